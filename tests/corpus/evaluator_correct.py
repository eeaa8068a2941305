"""Correct scripts of step 16, the evaluator. Each one passes."""

from tests.corpus.evaluator_passages import CHECK, END, FLAG, LOGS, ROLE, SIDECAR
from tests.corpus.variant import right

_BY_HAND = """import time

last = args.max_evaluations or args.epochs
done = None
while not done or int(done.rpartition("-")[2]) < last:
    newest = tf.train.latest_checkpoint(f"{args.log_dir}/checkpoints")
    if newest and newest != done:
        model.load_weights(newest).expect_partial()
        model.evaluate(images, callbacks=callbacks, verbose=2)
        done = newest
    else:
        time.sleep(0.5)
"""

_ITERATOR = """last = args.max_evaluations or args.epochs
for newest in tf.train.checkpoints_iterator(f"{args.log_dir}/checkpoints"):
    model.load_weights(newest).expect_partial()
    model.evaluate(images, callbacks=callbacks, verbose=2)
    if int(newest.rpartition("-")[2]) >= last:
        break
"""

_STATE = """import time


class Newest:
    done = None

    def wait(self):
        while True:
            state = tf.train.get_checkpoint_state(f"{args.log_dir}/checkpoints")
            if state and state.model_checkpoint_path != self.done:
                return state.model_checkpoint_path
            time.sleep(0.5)


last = args.max_evaluations or args.epochs
newest = Newest()
while not newest.done or int(newest.done.rpartition("-")[2]) < last:
    found = newest.wait()
    model.load_weights(found).expect_partial()
    model.evaluate(images, callbacks=callbacks, verbose=2)
    newest.done = found
"""

_SUBCLASS = """class Evaluator(tf.keras.utils.SidecarEvaluator):
    def start(self):
        print("waiting for checkpoints")
        super().start()


""" + SIDECAR.replace("tf.keras.utils.SidecarEvaluator", "Evaluator")

_DATACLASS = '''logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")


@dataclass
class Evaluator:
    """Evaluates each checkpoint that it finds."""

    folder: str
    last: int
    pause: float = 0.5
    results: Dict[int, Dict[str, float]] = field(default_factory=dict)

    def newest(self) -> Optional[str]:
        """Return the newest checkpoint, if it has not been evaluated yet."""
        found = tf.train.latest_checkpoint(self.folder)
        return found if found and self.epoch(found) not in self.results else None

    @staticmethod
    def epoch(checkpoint: str) -> int:
        return int(checkpoint.split("-")[-1])

    def run(self) -> None:
        while max(self.results, default=0) < self.last:
            if checkpoint := self.newest():
                model.load_weights(checkpoint).expect_partial()
                result = model.evaluate(images, callbacks=callbacks, verbose=0, return_dict=True)
                self.results[self.epoch(checkpoint)] = result
                logging.info("epoch %d: %s", self.epoch(checkpoint), result)
            else:
                time.sleep(self.pause)


Evaluator(f"{args.log_dir}/checkpoints", last=args.max_evaluations or args.epochs).run()
'''

CORRECT = (
    right(16, "the solution of step 16")(),
    right(16, "checkpoints looked for by hand")((SIDECAR, _BY_HAND)),
    right(16, "the checkpoints' state read, in a class of one's own")((SIDECAR, _STATE)),
    right(16, "checkpoints by TensorFlow's iterator")((SIDECAR, _ITERATOR)),
    right(16, "SidecarEvaluator by another name", in_ci=True)(
        (
            "import TensorBoard\n",
            "import TensorBoard\nfrom tensorflow.keras.utils import SidecarEvaluator as Sidecar\n",
        ),
        ("tf.keras.utils.SidecarEvaluator(", "Sidecar("),
    ),
    right(16, "a subclass of SidecarEvaluator")((SIDECAR, _SUBCLASS)),
    right(16, "SidecarEvaluator by its older name")(("keras.utils.Sidecar", "keras.experimental.Sidecar")),
    right(16, "the flag's default set after reading the flags")(
        (
            "args = parser.parse_args()\n",
            "args = parser.parse_args()\nargs.max_evaluations = args.max_evaluations or args.epochs\n",
        ),
        (END, "    max_evaluations=args.max_evaluations,\n"),
    ),
    right(16, "a default of 0 in place of None")((FLAG, FLAG.replace("type=int,", "type=int, default=0,"))),
    right(16, "the role as the check returns it")(
        (CHECK, "kind, _ = tf_config.check()\n"), ("if task_type !=", "if kind !=")
    ),
    right(16, "the other roles turned away by name")(
        (ROLE, ROLE.replace('!= "evaluator"', 'in ("chief", "worker", "ps")'))
    ),
    right(16, "an evaluator with a name")(
        (SIDECAR, SIDECAR.replace("tf.keras", "evaluator = tf.keras").replace(").start()\n", ")\nevaluator.start()\n"))
    ),
    right(16, "logs next to the training's")(
        (LOGS, 'callbacks = [TensorBoard(f"{args.log_dir}/tensorboard/evaluator")]\n')
    ),
    right(16, "a dataclass that evaluates, with a logger")(
        (
            "import os\n",
            "import logging\nimport os\nimport time\nfrom dataclasses import dataclass, field\n"
            "from typing import Dict, Optional\n",
        ),
        (SIDECAR, _DATACLASS),
    ),
)
