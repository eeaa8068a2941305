"""Run the course's own programs next to the one that is judged, as other tasks of its cluster."""

import contextlib
import mmap
import time
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from course.record.keras_hooks import FitCall, wrap_fit
from grader.sandboxed import evaluator_pacing
from grader.sandboxed.recorder import Recorder
from grader.terms.clusters import TaskSpec
from grader.terms.facts import TaskFacts

PATIENCE = 120  # seconds in all: for an evaluator that neither evaluates nor pauses


class WaitForEvaluation:
    """Listens to a training, and has it wait after each epoch until an evaluator has evaluated as often, if it will."""

    patience = float(PATIENCE)

    def epoch_ends(self, epoch: int, logs: Any) -> None:
        """Wait for the evaluation of this epoch's checkpoint."""
        began, before = time.monotonic(), evaluator_pacing.state()
        while time.monotonic() < began + self.patience:
            now = evaluator_pacing.state()
            if now.evaluations > epoch or now.pauses > before.pauses + evaluator_pacing.ENOUGH:
                break
            time.sleep(0.05)
        self.patience -= time.monotonic() - began


@contextlib.contextmanager
def _paced(call: FitCall) -> Iterator[None]:
    """Pace a training, so that an evaluator sees each of its checkpoints, however fast it trains."""
    call.listener = WaitForEvaluation()
    yield


def make_mobilenet_shallow() -> None:
    """Put two layers in the place of MobileNetV2's hundred and fifty, which take half a minute to get to all servers.

    What is judged is where variables are, and the large one is that of the dense layer on top.
    """

    def shallow(input_shape: Any = None, alpha: float = 1.0, *args: Any, **kwargs: Any) -> Any:
        inputs = tf.keras.Input(input_shape)
        features = tf.keras.layers.Conv2D(int(10 * alpha), 8, 8)(inputs)
        features = tf.keras.layers.Conv2D(1280, 1)(features)
        return tf.keras.Model(inputs, tf.keras.layers.GlobalAveragePooling2D()(features))

    tf.keras.applications.MobileNetV2 = tf.keras.applications.mobilenet_v2.MobileNetV2 = shallow


def run(program: str, task: TaskSpec, number: int, shared: mmap.mmap) -> Recorder[TaskFacts]:
    """Run a program as this task, and return a recorder of no more than its error, if any."""
    make_mobilenet_shallow()
    wrap_fit(_paced)
    recorder = Recorder(program, number, shared, TaskFacts())
    recorder.run(task.arguments)
    evaluator_pacing.TRAINED.touch()
    return recorder
