"""Correct scripts of step 16, the evaluator. Each one passes."""

from tests.corpus.evaluator_passages import CHECK, END, FLAG, LOGS, ROLE, SIDECAR
from tests.corpus.variant import Variant

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
    Variant("the solution of step 16", 16, ()),
    Variant("checkpoints looked for by hand", 16, ((SIDECAR, _BY_HAND),)),
    Variant("the checkpoints' state read, in a class of one's own", 16, ((SIDECAR, _STATE),)),
    Variant("checkpoints by TensorFlow's iterator", 16, ((SIDECAR, _ITERATOR),)),
    Variant(
        "SidecarEvaluator by another name",
        16,
        (
            (
                "import TensorBoard\n",
                "import TensorBoard\nfrom tensorflow.keras.utils import SidecarEvaluator as Sidecar\n",
            ),
            ("tf.keras.utils.SidecarEvaluator(", "Sidecar("),
        ),
        in_ci=True,
    ),
    Variant("a subclass of SidecarEvaluator", 16, ((SIDECAR, _SUBCLASS),)),
    Variant("SidecarEvaluator by its older name", 16, (("keras.utils.Sidecar", "keras.experimental.Sidecar"),)),
    Variant(
        "the flag's default set after reading the flags",
        16,
        (
            (
                "args = parser.parse_args()\n",
                "args = parser.parse_args()\nargs.max_evaluations = args.max_evaluations or args.epochs\n",
            ),
            (END, "    max_evaluations=args.max_evaluations,\n"),
        ),
    ),
    Variant(
        "a default of 0 in place of None",
        16,
        ((FLAG, FLAG.replace("type=int,", "type=int, default=0,")),),
    ),
    Variant(
        "the role as the check returns it",
        16,
        ((CHECK, "kind, _ = tf_config.check()\n"), ("if task_type !=", "if kind !=")),
    ),
    Variant(
        "the other roles turned away by name",
        16,
        ((ROLE, ROLE.replace('!= "evaluator"', 'in ("chief", "worker", "ps")')),),
    ),
    Variant(
        "an evaluator with a name",
        16,
        (
            (
                SIDECAR,
                SIDECAR.replace("tf.keras", "evaluator = tf.keras").replace(").start()\n", ")\nevaluator.start()\n"),
            ),
        ),
    ),
    Variant(
        "logs next to the training's",
        16,
        ((LOGS, 'callbacks = [TensorBoard(f"{args.log_dir}/tensorboard/evaluator")]\n'),),
    ),
    Variant(
        "a dataclass that evaluates, with a logger",
        16,
        (
            (
                "import os\n",
                "import logging\nimport os\nimport time\nfrom dataclasses import dataclass, field\n"
                "from typing import Dict, Optional\n",
            ),
            (SIDECAR, _DATACLASS),
        ),
    ),
)
