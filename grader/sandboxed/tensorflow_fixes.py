"""Work-arounds for what TensorFlow and Keras 2.15 do by chance, so that a script's verdict is the same each time.

Each one names the public issue that it is about.
"""

import contextlib
import functools
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from keras.src.engine import data_adapter
from tensorflow.core.protobuf import tensorflow_server_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.data.ops import iterator_ops, multi_device_iterator_ops

from course.record import calls

# --- Iterators that take seconds to end -------------------------------------------------------------------------------
#
# Each iterator over a data set has a thread that tunes it now and then, at intervals that double, up to a minute.
# Deleting the iterator wakes that thread, and waits for it; but TensorFlow calls the thread before it says that it has
# to end (CancellationManager::StartCancel runs the callbacks, and sets the flag that Model::OptimizeLoop reads after
# them). On a busy machine the thread may look in between, and sleeps on: the program stands still for ten seconds or
# more, at the end of model.fit or of an evaluation, as if it were deadlocked. No public issue is known.

ITERATORS: tuple[Any, ...] = (iterator_ops.OwnedIterator, multi_device_iterator_ops.OwnedMultiDeviceIterator)

_kept: list[Any] = []


def keep_iterators() -> None:
    """Keep every data iterator that this process makes from now on, so that none is deleted."""
    for kind in ITERATORS:
        calls.before(kind, "__init__", lambda iterator, *args, **kwargs: _kept.append(iterator))


# --- Workers that connect to the first one before it listens ----------------------------------------------------------
#
# TensorFlow's processes try to reach each other once a second (fixed_reconnect_backoff_ms in its grpc_channel.cc).
# Workers that start at the same time on few cores connect too early more often than not, and lose a second. The log in
# tensorflow/tensorflow#17852 shows such attempts, 998 ms apart.

RETRY = 1.0  # seconds: waiting for longer would save nothing


def await_first_worker() -> None:
    """Have each worker but the first wait for that one, before TensorFlow starts its own server."""

    def wait(context: Any, definition: bytes) -> None:
        server = tensorflow_server_pb2.ServerDef.FromString(definition)
        if server.task_index:
            _wait_for(next(job.tasks[0] for job in server.cluster.job if job.name == server.job_name))

    calls.before(pywrap_tfe, "TFE_EnableCollectiveOps", wait)


def _wait_for(address: str) -> None:
    """Wait until something listens at an address, host:port, for RETRY seconds at most."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + RETRY
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=RETRY):
            return
        time.sleep(0.005)


# --- Training with a coordinator whose data run out -------------------------------------------------------------------
#
# Keras ends such a training early, with a warning, and then fetches what the last step returned. If that step was
# another worker's and not done yet, it is cancelled, and fetching raises CancelledError. So which worker is faster
# decides whether the program fails. tensorflow/tensorflow#61129 asks how such a training could end in order.

HANDLER: Any = data_adapter._ClusterCoordinatorDataHandler


def raise_when_data_run_out() -> None:
    """Raise OutOfRangeError wherever Keras notices that a coordinator's data are fewer than its steps."""
    catch = HANDLER.catch_stop_iteration

    @contextlib.contextmanager
    def watched(handler: Any) -> Iterator[None]:
        with catch(handler):
            yield
        if handler._insufficient_data:
            raise tf.errors.OutOfRangeError(None, None, "The data end before the last step.")

    HANDLER.catch_stop_iteration = watched


# --- Workers that save to the same path -------------------------------------------------------------------------------
#
# Each worker writes the parts of a checkpoint into one temporary folder, and deletes the folder when it has put them
# together. A worker that is slower does not find its own parts any more and raises NotFoundError, but only where the
# other one was just that much faster. See ray-project/ray#27938. Saved once more, the verdict is that of the check
# that looks at the paths, each time.


def repeat_failed_saves() -> None:
    """Have Keras' models save once more where TensorFlow fails to save."""
    for name in ("save", "save_weights"):
        setattr(tf.keras.Model, name, repeated(getattr(tf.keras.Model, name)))


def repeated(save: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls another one, and calls it again if TensorFlow raises an error."""

    @functools.wraps(save)
    def call(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(tf.errors.OpError):
            return save(*args, **kwargs)
        return save(*args, **kwargs)

    return call
