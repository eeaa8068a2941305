"""Correct scripts of the first part that are organised in their own way. Each one passes.

Classes, functions with a main(), settings in dataclasses and files, networks as layers and models, trainings in a loop.
"""

import textwrap

from tests.corpus.horovod_passages import (
    ARGS,
    CALLBACK_LIST,
    DATA,
    FITTING,
    INIT,
    LIST,
    MODEL,
    PARSER,
    PIN,
    SEED,
    TEST,
    THE_REST,
    TRAINING,
    VERBOSE,
)
from tests.corpus.variant import before, importing, passage, right

AFTER_1 = "fashion_mnist_after_step_01.py"


def indented(text: str) -> str:
    """Return lines as the body of a function."""
    return textwrap.indent(text, "    ")


# --- Classes and functions --------------------------------------------------------------------------------------------

_TRAINER = '''

class Trainer:
    """Trains a model together with the other ranks, and tests it."""

    def __init__(self, args, callbacks):
        self.args, self.callbacks = args, callbacks
        self.is_chief = hvd.rank() == 0
        self.model = self._compiled(create_model())

    def _compiled(self, model):
        optimizer = tf.keras.optimizers.SGD(learning_rate=self.args.base_lr, momentum=0.9)
        model.compile(
            loss="sparse_categorical_crossentropy",
            optimizer=hvd.DistributedOptimizer(optimizer),
            metrics=["accuracy"],
        )
        return model

    @property
    def verbose(self):
        return int(self.is_chief)

    @staticmethod
    def endless(batches):
        while True:
            yield next(batches)

    @classmethod
    def share(cls, batches, passes=1):
        """Return how many of the batches are each rank's."""
        return passes * len(batches) // hvd.size()

    def train(self, training, validation):
        self.history = self.model.fit(
            self.endless(training),
            steps_per_epoch=self.share(training),
            epochs=self.args.epochs,
            callbacks=self.callbacks,
            verbose=self.verbose,
            validation_data=self.endless(validation),
            validation_steps=self.share(validation, passes=3),
        )
        return self

    def test(self, batches):
        loss, accuracy = self.model.evaluate(batches, verbose=self.verbose)
        if self.is_chief:
            print("Test loss: {:.4f}, test accuracy: {:.4f}".format(loss, accuracy))

    def __repr__(self):
        return f"{type(self).__name__}({self.model.name!r}, {hvd.size()} ranks)"


trainer = Trainer(args, callbacks)
if trainer.is_chief:
    print(trainer)
trainer.train(train_iter, test_iter)
trainer.test(test_gen.flow(x_test, y_test, batch_size=args.val_batch_size, shuffle=False))
'''
_EXPERIMENT = '''

class Experiment(abc.ABC):
    """What all experiments have in common."""

    def __enter__(self):
        self.model = self.build()
        self.model.compile(
            optimizer=hvd.DistributedOptimizer(self.optimizer()),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
        )
        return self

    def __exit__(self, *error):
        if verbose:
            print("failed" if any(error) else "done", flush=True)
        return False

    @abc.abstractmethod
    def build(self):
        """Return the network."""

    @abc.abstractmethod
    def optimizer(self):
        """Return the optimizer of one process."""

    def run(self, **options):
        return self.model.fit(verbose=verbose, callbacks=callbacks, epochs=args.epochs, **options)


class FashionMnist(Experiment):
    """A wide residual network, by SGD."""

    def build(self):
        return create_model()

    def optimizer(self):
        return tf.keras.optimizers.SGD(args.base_lr, momentum=0.9)


with FashionMnist() as experiment:
    experiment.run(
        x=(batch for batch in train_iter),
        steps_per_epoch=len(train_iter) // hvd.size(),
        validation_data=(batch for batch in test_iter),
        validation_steps=3 * len(test_iter) // hvd.size(),
    )
    test_once = test_gen.flow(x_test, y_test, batch_size=args.val_batch_size, shuffle=False)
    results = experiment.model.evaluate(test_once, verbose=verbose, return_dict=True)
    if verbose:
        print(*(f"{name}: {value:.4f}" for name, value in results.items()), sep="\\n")
'''
_IN_FUNCTIONS = (
    before("import argparse\n", "from __future__ import annotations\n\n"),
    importing("import sys", "from typing import Iterator, List"),
    (INIT, ""),
    (
        PARSER,
        "def parse_arguments() -> argparse.Namespace:\n"
        + indented(PARSER.replace(ARGS, "return parser.parse_args()\n")),
    ),
    (SEED, ""),
    (LIST + PIN, f"def pin_gpu() -> None:\n{indented(LIST + PIN)}"),
    (VERBOSE, ""),
    (
        DATA,
        "def load_data() -> tuple[Iterator, Iterator, Iterator]:\n"
        + indented(DATA)
        + "    test_once = test_gen.flow(x_test, y_test, batch_size=args.val_batch_size, shuffle=False)\n"
        + "    return train_iter, test_iter, test_once\n",
    ),
    (
        CALLBACK_LIST,
        "def make_callbacks(images: int, verbose: int) -> List[tf.keras.callbacks.Callback]:\n"
        + indented(CALLBACK_LIST).replace("len(x_train)", "images")
        + "    return callbacks\n",
    ),
    (
        TRAINING,
        "def main() -> int:\n"
        + indented(
            f"{SEED}pin_gpu()\n{VERBOSE}train_iter, test_iter, test_once = load_data()\n"
            "callbacks = make_callbacks(train_iter.n, verbose)\n"
            + TRAINING.replace(TEST, TEST.partition("\n")[2])
            + "return 0\n"
        )
        + '\n\nif __name__ == "__main__":\n    hvd.init()\n    args = parse_arguments()\n    sys.exit(main())\n',
    ),
)

_STRUCTURE = (
    right(6, "a class that trains and tests")((TRAINING, _TRAINER)),
    right(6, "an abstract class and a context manager")(importing("import abc"), (TRAINING, _EXPERIMENT)),
    right(6, "functions with type hints, and main()", in_ci=True)(*_IN_FUNCTIONS),
    right(6, "main() before the functions that it calls")(
        (MODEL + THE_REST, "main()\n"), before("def conv(", f"def main():\n{indented(MODEL + THE_REST)}\n\n")
    ),
)

# --- Settings ---------------------------------------------------------------------------------------------------------

_DATACLASS = '''@dataclass
class Config:
    """The settings of a run. Each field is a flag."""

    log_dir: str = "./logs"
    batch_size: int = 32
    val_batch_size: int = 32
    epochs: int = 40
    base_lr: float = 0.01
    wd: float = 0.000005
    target_accuracy: float = 0.85
    patience: int = 2
    data_dir: str = field(default_factory=lambda: str(data.SHIPPED))
    train_samples: Optional[int] = None
    test_samples: Optional[int] = None
    depth: int = 16
    widen_factor: int = 10
    seed: Optional[int] = None

    def __post_init__(self):
        if (self.depth - 4) % 6:
            raise ValueError(f"depth={self.depth} is not 4, 10, 16, ...")

    @classmethod
    def from_flags(cls):
        """Make the settings from the command line."""
        parser = argparse.ArgumentParser()
        for each in fields(cls):
            default = each.default if each.default is not MISSING else each.default_factory()
            kind = int if default is None else type(default)
            parser.add_argument("--" + each.name.replace("_", "-"), type=kind, default=default)
        return cls(**vars(parser.parse_args()))


args = Config.from_flags()
if hvd.rank() == 0:
    print(args)
'''
_FROM_FILE = """parser.add_argument("--config", type=argparse.FileType(), help="a JSON file with other defaults")
given, _ = parser.parse_known_args()
if given.config:
    parser.set_defaults(**json.load(given.config))
"""
_FROZEN = '''

@dataclass(frozen=True)
class Shares:
    """What each rank does in an epoch."""

    training: int
    validation: int
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def log(self):
        """Write the settings where the logs are."""
        folder = Path(args.log_dir)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(asdict(self), indent=2, default=str))


shares = Shares(len(train_iter) // hvd.size(), 3 * len(test_iter) // hvd.size(), copy.deepcopy(vars(args)))
if verbose:
    shares.log()
    print(replace(shares, settings={}))
'''

_SETTINGS = (
    right(6, "flags from the fields of a dataclass")(
        importing("from dataclasses import MISSING, dataclass, field, fields", "from typing import Optional"),
        (PARSER, _DATACLASS),
    ),
    right(6, "defaults from a file, shares in a frozen dataclass")(
        importing(
            "import copy",
            "import json",
            "from dataclasses import asdict, dataclass, field, replace",
            "from pathlib import Path",
            "from typing import Any, Mapping",
        ),
        before(ARGS, _FROM_FILE),
        before(MODEL, _FROZEN),
        ("=len(train_iter) // hvd.size(),", "=shares.training,"),
        ("=3 * len(test_iter) // hvd.size(),", "=shares.validation,"),
    ),
)

# --- Trainings in a loop ----------------------------------------------------------------------------------------------


def epoch_by_epoch(fitting: str) -> tuple[str, str]:
    """Return an edit that calls fit once per epoch, in a loop of the script's own."""
    single = fitting.replace("    epochs=args.epochs,\n", "    initial_epoch=epoch,\n    epochs=epoch + 1,\n")
    return fitting, f"for epoch in range(args.epochs):\n{indented(single)}    if model.stop_training:\n        break\n"


_LOOPS = (
    right(1, "a call of fit for each epoch, judged at step 1")(
        epoch_by_epoch(passage(AFTER_1, "model.fit(", "validation_steps=") + ")\n")
    ),
    right(6, "a call of fit for each epoch")(epoch_by_epoch(FITTING)),
)

CORRECT = (*_STRUCTURE, *_SETTINGS, *_LOOPS)
