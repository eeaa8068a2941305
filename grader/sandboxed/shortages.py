"""Have training with a coordinator fail each time where data run out; by Keras alone, it may or may not.

Keras 2.15 ends such a training early, with a warning, and then fetches what the last step returned. If that step was
another worker's and not done yet, it is cancelled, and fetching raises CancelledError. So which worker is faster
decides whether the program fails.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from keras.src.engine import data_adapter

HANDLER: Any = data_adapter._ClusterCoordinatorDataHandler


def raise_shortages() -> None:
    """Raise OutOfRangeError wherever Keras notices that a coordinator's data are fewer than its steps."""
    catch = HANDLER.catch_stop_iteration

    @contextlib.contextmanager
    def watched(handler: Any) -> Iterator[None]:
        with catch(handler):
            yield
        if handler._insufficient_data:
            raise tf.errors.OutOfRangeError(None, None, "The data end before the last step.")

    HANDLER.catch_stop_iteration = watched
