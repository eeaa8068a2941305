"""What a script's own callbacks do in a rank of Horovod: which metrics they read, and which learning rates they set."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback

from course.record.keras_hooks import FitCall
from grader.terms.facts import Fit

LAST_EPOCH = 90  # of the schedule of the second part's programs


class ReadLogs(dict[str, Any]):
    """Keras' logs, noting what each metric was when it was last read."""

    def __init__(self, logs: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), whole: bool = False):
        """Hold what logs holds; nothing, where Keras makes a copy of a dictionary's kind.

        whole says whether to note when all metrics are read at once, too, as Keras' own callbacks do that log them.
        """
        super().__init__(logs)
        self.last_read: dict[str, Any] = {}
        self.whole = whole

    def __getitem__(self, name: str) -> Any:
        """Return the metric, and note it."""
        self.last_read[name] = value = super().__getitem__(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """Return the metric or the default, and note it."""
        return self[name] if name in self else default  # noqa: SIM401

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the names; with it, a copy is made by reading each metric."""
        return iter(list(super().keys()))

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return the metric, and note it; set the default where there is none."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Return the metric, and note it, before it is taken out."""
        return super().pop(name, *default) if name not in self else (self[name], super().pop(name))[0]

    def items(self) -> Any:
        """Return all metrics, and note them."""
        if self.whole:
            self.last_read.update(self)
        return super().items()


@contextlib.contextmanager
def watched_reads(callback: Callback, fit: Fit) -> Iterator[None]:
    """Note each metric that a callback reads at the end of an epoch of a training, and the value it finds."""
    end = callback.on_epoch_end

    def watched(epoch: int, logs: Any = None) -> None:
        seen = ReadLogs(logs or {}, whole=type(callback).__module__.startswith("keras."))
        end(epoch, seen)
        for name, value in seen.last_read.items():
            left: Any = dict.get(seen, name)
            if left is value:  # a callback that replaces a metric averages it, and does not act on it
                fit.reads.append((epoch, type(callback).__name__, name, float(value)))
        if logs is not None:
            logs.update(seen)

    callback.on_epoch_end = watched
    try:
        yield
    finally:
        callback.on_epoch_end = end  # it may get to another training


def later_rates(call: FitCall, steps: int) -> dict[str, float]:
    """Return the learning rates of the epochs after a training: let the callbacks that may set it begin each of them.

    Args:
        call: the training, which has ended.
        steps: the number of steps per epoch.
    """
    rates: dict[str, float] = {}
    optimizer = call.model.optimizer
    later = range(int(call.arguments["epochs"]), LAST_EPOCH)
    by_steps = getattr(optimizer, "_learning_rate", None)
    if isinstance(by_steps, tf.keras.optimizers.schedules.LearningRateSchedule):
        return {str(epoch): float(by_steps(epoch * steps)) for epoch in later}
    callbacks = [callback for callback in call.callbacks if _may_set_rate(callback)]
    with contextlib.suppress(Exception):  # they are the script's own
        before, iterations = float(np.asarray(optimizer.learning_rate)), int(optimizer.iterations)
        for epoch in later:
            optimizer.iterations.assign(epoch * steps)  # from which a callback may compute the rate
            for callback in callbacks:
                callback.on_epoch_begin(epoch, {})
            for batch in range(1 + epoch % 2):  # a rate may be set later than with the first one
                for callback in callbacks if batch else ():
                    callback.on_train_batch_end(batch - 1, dict.fromkeys(call.model.metrics_names, 0.0))
                for callback in callbacks:
                    callback.on_train_batch_begin(batch, {})
            rates[str(epoch)] = float(np.asarray(optimizer.learning_rate))
        optimizer.learning_rate = before
        optimizer.iterations.assign(iterations)
    return rates


def _may_set_rate(callback: Callback) -> bool:
    """Whether a callback is one of the libraries' that set the learning rate, or the script's own."""
    kinds = type(callback).__mro__
    return any("LearningRate" in kind.__name__ or kind.__module__ == "__main__" for kind in kinds) or isinstance(
        callback, tf.keras.callbacks.LambdaCallback
    )
