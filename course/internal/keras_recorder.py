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
from tensorflow.keras.callbacks import Callback
from tensorflow.keras.preprocessing.image import DirectoryIterator
from tensorflow.python.distribute.coordinator import cluster_coordinator

from course.internal.keras_fit import FitCall, wrap_fit
from course.internal.records import Epoch, Record

MAX_COORDINATES = 200_000  # of the weights, recorded per batch: all of the small model's, a sample of the full one's
MAX_BATCHES = 200  # with recorded weights

Logs = dict[str, Any] | None


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
        strategy = call.model.distribute_strategy
        # A coordinator hands out steps without waiting for them, so Keras refuses callbacks for batches there.
        if isinstance(strategy, tf.distribute.experimental.ParameterServerStrategy):
            call.before.append(FirstByEpoch(record))
            call.behind.append(LastByEpoch(record, weights))
        else:
            call.before.append(First(record))
            call.behind.append(Last(record, weights))
        yield

    wrap_fit(around)


def record_images(record: Record) -> None:
    """Make every later reader of a folder of images add to this record. Keras reads some batches ahead."""
    read_batch = DirectoryIterator._get_batches_of_transformed_samples

    @functools.wraps(read_batch)
    def recorded_read(images: Any, numbers: Any) -> Any:
        folder = Path(images.directory).name
        record.samples[folder] = images.samples
        record.drawn.setdefault(folder, []).append([int(number) for number in numbers])
        return read_batch(images, numbers)

    DirectoryIterator._get_batches_of_transformed_samples = recorded_read


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


class FirstByEpoch(Callback):
    """Runs before the script's own callbacks: records starts, and each rank's own metrics."""

    def __init__(self, record: Record):
        """Add to this record."""
        super().__init__()
        self.record = record

    def on_train_begin(self, logs: Logs = None) -> None:
        """Record what Horovod reports about this process."""
        hvd = sys.modules.get("horovod.tensorflow")
        if hvd and hvd.is_initialized():
            self.record.horovod = [hvd.rank(), hvd.size(), hvd.local_rank()]

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Record when the epoch starts."""
        self.record.epochs.append(Epoch(start=time.time()))

    def on_test_begin(self, logs: Logs = None) -> None:
        """Record when training ended, unless a batch did."""
        self.record.epochs[-1].train_end = self.record.epochs[-1].train_end or time.time()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Record the metrics before another callback changes them."""
        self.record.epochs[-1].own_logs = _floats(logs)


class First(FirstByEpoch):
    """The same, and records each batch."""

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Record when the batch ends."""
        self.record.batch_ends.append(time.time())
        self.record.epochs[-1].steps += 1
        self.record.epochs[-1].train_end = self.record.batch_ends[-1]

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Count the batch."""
        self.record.epochs[-1].validation_steps += 1


class LastByEpoch(Callback):
    """Runs behind the script's own callbacks: records the metrics and weights that these leave."""

    def __init__(self, record: Record, weights: bool):
        """Add to this record, with weights or without."""
        super().__init__()
        self.record, self.weights = record, weights
        self.kept: list[np.ndarray] = []

    def keep(self) -> None:
        """Keep the trainable weights as one vector, or a sample of them."""
        if self.weights and len(self.kept) <= MAX_BATCHES:
            flat = np.concatenate([weight.numpy().ravel() for weight in self.model.trainable_weights])
            self.kept.append(flat[:: len(flat) // MAX_COORDINATES + 1])

    def on_train_begin(self, logs: Logs = None) -> None:
        """Keep the weights that training starts with."""
        self.keep()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Record when the epoch ends, and the metrics as all other callbacks left them."""
        self.record.epochs[-1].end = time.time()
        self.record.epochs[-1].final_logs = _floats(logs)

    def on_train_end(self, logs: Logs = None) -> None:
        """Record the weights of all batches."""
        if self.kept:
            self.record.weights = np.stack(self.kept)


class Last(LastByEpoch):
    """The same, and keeps the weights of each batch."""

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Keep the weights that the batch ends with."""
        self.keep()


def _floats(logs: Logs) -> dict[str, float]:
    return {name: float(value) for name, value in (logs or {}).items()}
