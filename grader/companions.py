"""Run the course's own programs beside the one that is judged, as other tasks of its cluster.

Used only by grader.ranks, in a process that will run nothing else.
"""

import mmap
import time
from pathlib import Path

import tensorflow as tf
from tensorflow.keras.callbacks import Callback

from grader.notes import Notes

EVALUATED = Path("evaluated")  # in the folder that all tasks work in: how often an evaluator has evaluated
PATIENCE = 8  # seconds


class Paced(Callback):
    """Makes a training wait at the end of each epoch until somebody has evaluated as often, some seconds at most."""

    def on_epoch_end(self, epoch, logs=None):
        """Wait."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and (not EVALUATED.exists() or int(EVALUATED.read_text() or 0) <= epoch):
            time.sleep(0.05)


def pace_training() -> None:
    """Make this process's training Paced: an evaluator is to see each of its checkpoints, however fast it trains."""
    fit = tf.keras.Model.fit

    def paced(model, *args, callbacks=(), **kwargs):
        return fit(model, *args, callbacks=[*callbacks, Paced()], **kwargs)

    tf.keras.Model.fit = paced


def make_mobilenet_shallow() -> None:
    """Put two layers in the place of MobileNetV2's hundred and fifty, which take half a minute to get to all servers.

    What is judged is where variables are, and the large one is that of the dense layer on top.
    """

    def shallow(input_shape=None, alpha=1.0, *args, **kwargs):
        inputs = tf.keras.Input(input_shape)
        features = tf.keras.layers.Conv2D(int(10 * alpha), 8, 8)(inputs)
        features = tf.keras.layers.Conv2D(1280, 1)(features)
        return tf.keras.Model(inputs, tf.keras.layers.GlobalAveragePooling2D()(features))

    tf.keras.applications.MobileNetV2 = tf.keras.applications.mobilenet_v2.MobileNetV2 = shallow


def run(program: str, arguments: list[str], number: int, board: mmap.mmap) -> dict:
    """Run a program as this task, and return no more than its error, if any; see Notes.run."""
    make_mobilenet_shallow()
    pace_training()
    notes = Notes(program, number, board, {"error": None})
    notes.run(arguments)
    return notes.facts
