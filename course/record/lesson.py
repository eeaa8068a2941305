"""Record what Keras does in this process: epochs, batches, metrics, weights, images read, steps of a coordinator."""

import functools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.image import DirectoryIterator
from tensorflow.python.distribute.coordinator import cluster_coordinator

from course.record import calls
from course.record.keras_hooks import FitCall, wrap_fit
from course.record.records import Epoch, Record

MAX_COORDINATES = 200_000  # of the weights, recorded per batch: all of the small model's, a sample of the full one's
MAX_BATCHES = 200  # with recorded weights


def visible_gpus() -> list[str]:
    """Return the names of the GPUs that TensorFlow uses in this process."""
    return [gpu.name.removeprefix("/physical_device:") for gpu in tf.config.get_visible_devices("GPU")]


def record_fit(record: Record, weights: bool, gpus: Callable[[], list[str]] = visible_gpus) -> None:
    """Make every later fit() add to this record.

    Args:
        record: what to add to.
        weights: whether to record the trainable weights after every batch, too.
        gpus: returns the names of the GPUs that this process sees.
    """

    @contextmanager
    def around(call: FitCall) -> Iterator[None]:
        record.gpus = gpus()
        # A coordinator hands out steps without waiting for them, so the end of a batch shows nothing there.
        coordinated = call.model.distribute_strategy._should_use_with_coordinator
        call.listener = (Epochs if coordinated else Batches)(record, call.model, weights)
        yield

    wrap_fit(around)


def record_images(record: Record) -> None:
    """Make every later reader of a folder of images add to this record. Keras reads some batches ahead."""

    def note(images: Any, numbers: Any) -> None:
        folder = Path(images.directory).name
        record.samples[folder] = images.samples
        record.drawn.setdefault(folder, []).append([int(number) for number in numbers])

    calls.before(DirectoryIterator, "_get_batches_of_transformed_samples", note)


def record_worker_steps(record: Record) -> None:
    """Make a coordinator of this process record which worker does each step, and when.

    TensorFlow has no public hook for that.
    """
    execute_on = cluster_coordinator.Closure.execute_on

    @functools.wraps(execute_on)
    def recorded_execute(step: Any, worker: Any) -> None:
        start = time.time()
        execute_on(step, worker)  # returns when the worker has finished, and raises if it is gone
        if not isinstance(step, cluster_coordinator.ResourceClosure):  # those create a worker's data set
            record.worker_steps.append((worker.worker_index, start, time.time()))

    cluster_coordinator.Closure.execute_on = recorded_execute


class Epochs:
    """Listens to a training and records each epoch: when it starts and ends, its metrics, the weights at its start."""

    def __init__(self, record: Record, model: Any, weights: bool):
        """Add a training of this model to a record, with its weights or without."""
        self.record, self.model, self.weights = record, model, weights
        self.kept: list[np.ndarray] = []

    def keep(self) -> None:
        """Keep the trainable weights as one vector, or a sample of them."""
        if self.weights and len(self.kept) <= MAX_BATCHES:
            flat = np.concatenate([weight.numpy().ravel() for weight in self.model.trainable_weights])
            self.kept.append(flat[:: len(flat) // MAX_COORDINATES + 1])

    def training_begins(self, logs: Any) -> None:
        """Record what Horovod reports about this process, and keep the weights that training starts with."""
        hvd = sys.modules.get("horovod.tensorflow")
        if hvd and hvd.is_initialized():
            self.record.horovod = [hvd.rank(), hvd.size(), hvd.local_rank()]
        self.keep()

    def epoch_begins(self, epoch: int, logs: Any) -> None:
        """Record when the epoch starts."""
        self.record.epochs.append(Epoch(start=time.time()))

    def validation_begins(self, logs: Any) -> None:
        """Record when training ended, unless a batch did."""
        self.record.epochs[-1].train_end = self.record.epochs[-1].train_end or time.time()

    def epoch_measured(self, epoch: int, logs: Any) -> None:
        """Record this rank's metrics, before another callback changes them."""
        self.record.epochs[-1].own_logs = _floats(logs)

    def epoch_ends(self, epoch: int, logs: Any) -> None:
        """Record when the epoch ends, and the metrics as all other callbacks left them."""
        self.record.epochs[-1].end = time.time()
        self.record.epochs[-1].final_logs = _floats(logs)

    def training_ends(self, logs: Any) -> None:
        """Record the weights that were kept."""
        if self.kept:
            self.record.weights = np.stack(self.kept)


class Batches(Epochs):
    """Listens to a training and records each batch, too."""

    def batch_updated(self, batch: int, logs: Any) -> None:
        """Record when the batch ends."""
        self.record.batch_ends.append(time.time())
        self.record.epochs[-1].steps += 1
        self.record.epochs[-1].train_end = self.record.batch_ends[-1]

    def batch_ends(self, batch: int, logs: Any) -> None:
        """Keep the weights that the batch ends with."""
        self.keep()

    def validation_batch_ends(self, batch: int, logs: Any) -> None:
        """Count the batch."""
        self.record.epochs[-1].validation_steps += 1


def _floats(logs: Any) -> dict[str, float]:
    return {name: float(value) for name, value in (logs or {}).items()}
