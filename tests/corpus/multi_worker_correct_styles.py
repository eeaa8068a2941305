"""Correct scripts of steps 13 and 14 in styles that people use: classes, main(), loggers, plots. Each one passes."""

import textwrap

from course.steps import SOLUTIONS
from tests.corpus.multi_worker_passages import FINAL, LAST, SCOPE, WHO
from tests.corpus.variant import after, importing, passage, right, section

ARGS = "args = parser.parse_args()\n"
TRAINING = section(FINAL, "Training")

_LOGGER = """logging.basicConfig(
    format=f"%(asctime)s worker {index}: %(message)s", level=logging.INFO if index == 0 else logging.WARNING
)
logger = logging.getLogger(__name__)
"""
_REPORT = """logger.info("%d workers, %d images in a batch", strategy.num_replicas_in_sync, batch_size)
logger.info("settings: %s", json.dumps(args.__dict__, default=str))
"""
_DATACLASS = '''@dataclass(frozen=True)
class Settings:
    """All settings of a run."""

    data_dir: str
    log_dir: str
    batch_size: int
    epochs: int
    lr: float
    communication: str
    save_freq: int
    train_samples: Optional[int] = None
    seed: Optional[int] = None


class Kind(str, Enum):
    CHIEF = "chief"
    OTHER = "other worker"


args = Settings(**vars(parser.parse_args()))
'''
_KIND = """kind = Kind.CHIEF if index == 0 else Kind.OTHER
chief = kind is Kind.CHIEF
if chief:
    print(kind.value, asdict(args))
"""
_TRAINER = '''

class Trainer:
    """One worker of a training."""

    def __init__(self, args, strategy, log_dir):
        self.args, self.strategy, self.log_dir = args, strategy, log_dir
        with self.strategy.scope():
            self.model = make_or_restore_model()

    @property
    def first_epoch(self):
        return int(self.model.optimizer.iterations.numpy()) // steps_per_epoch

    def callbacks(self):
        yield ModelCheckpoint(
            os.path.join(self.log_dir, "checkpoints", "after-{epoch}"),
            save_weights_only=True,
            save_freq=self.args.save_freq,
        )
        yield TensorBoard(os.path.join(self.log_dir, "tensorboard"))
        yield BackupAndRestore(os.path.join(self.args.log_dir, "backup"), save_freq=self.args.save_freq)

    def train(self, training, validation):
        return self.model.fit(
            training,
            steps_per_epoch=steps_per_epoch,
            initial_epoch=self.first_epoch,
            epochs=self.args.epochs,
            callbacks=list(self.callbacks()),
            validation_data=validation,
            validation_steps=validation_steps,
            verbose=int(chief),
        )

    def save(self):
        self.model.save_weights(f"{self.log_dir}/checkpoints/after-{self.args.epochs}")


trainer = Trainer(args, strategy, log_dir)
trainer.train(train_data, val_data)
trainer.save()
'''
_PLOT = """if chief:
    figure, axes = plt.subplots()
    for name, values in history.history.items():
        axes.plot(history.epoch, values, label=name)
    axes.legend()
    figure.savefig(f"{args.log_dir}/history.png")
    with open(f"{args.log_dir}/history.json", "w") as file:
        json.dump(history.history, file)
    print(f"{psutil.Process().memory_info().rss >> 20} MiB taken")
"""


def in_main(solution: str) -> tuple[str, str]:
    """Return an edit that puts all that follows the arguments into main()."""
    rest = _rest(solution)
    body = textwrap.indent(rest, "    ")
    return rest, f'\n\ndef main():\n{body}\n\nif __name__ == "__main__":\n    main()\n'


def _rest(solution: str) -> str:
    first = passage(solution, WHO.strip())
    return first + (SOLUTIONS / solution).read_text().partition(first)[2]


CORRECT = (
    right(13, "a logger for each worker")(
        importing("import json", "import logging"), after(WHO, _LOGGER), after(SCOPE, _REPORT)
    ),
    right(13, "settings in a dataclass, roles in an enumeration")(
        importing("from dataclasses import asdict, dataclass", "from enum import Enum", "from typing import Optional"),
        (ARGS, _DATACLASS),
        ("chief = index == 0\n", _KIND),
    ),
    right(14, "all in a function main()")(in_main("mnist_multi_worker_after_step_14.py")),
    right(14, "a class for a worker", base=FINAL)((SCOPE, ""), (TRAINING, _TRAINER)),
    right(14, "the chief plots and writes the history")(
        importing("import json", "", "import matplotlib", "import psutil"),
        after("import tensorflow as tf\n", 'matplotlib.use("Agg")\nimport matplotlib.pyplot as plt\n'),
        ("model.fit(\n", "history = model.fit(\n"),
        after(LAST, _PLOT),
    ),
)
