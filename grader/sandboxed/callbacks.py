"""What the recorder of Horovod's ranks puts before and behind a script's own callbacks, to see what each one does."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from tensorflow.keras.callbacks import Callback

from grader.terms.facts import Batch, Epoch, Fit

if TYPE_CHECKING:
    from grader.sandboxed.horovod_recorder import HorovodRecorder


class ReadLogs(dict[str, Any]):
    """Keras' logs, noting what each metric was when it was last read."""

    def __init__(self, logs: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), whole: bool = False):
        """Hold what logs holds; nothing, where Keras makes a copy of a dictionary's kind.

        whole says whether to note when all metrics are read at once, too, as Keras' own callbacks do that log them.
        """
        super().__init__(logs)
        self._judged_last_read: dict[str, Any] = {}
        self._judged_whole = whole

    def __getitem__(self, name: str) -> Any:
        """Return the metric, and note it."""
        self._judged_last_read[name] = value = super().__getitem__(name)
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
        if self._judged_whole:
            self._judged_last_read.update(self)
        return super().items()


class First(Callback):
    """Stands before a script's own callbacks: sees what training did before any of them acts."""

    def __init__(self, recorder: "HorovodRecorder", fit: Fit):
        """Write into these facts of a fit."""
        super().__init__()
        self._judged_recorder, self._judged_fit = recorder, fit

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin an epoch."""
        self._judged_fit.epochs.append(Epoch())

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Note the gradient, and the weights as the update left them."""
        self._judged_fit.epochs[-1].steps += 1
        recorder = self._judged_recorder
        updated = recorder.project(self.model.trainable_weights)
        self._judged_fit.batches.append(Batch(recorder.rate, recorder.before, recorder.local, updated))

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Count."""
        self._judged_fit.epochs[-1].validation_steps += 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Note this rank's own metrics, after making sure that no two ranks have the same by chance.

        Where the accuracy itself is looked at, it stays as it is. Where checkpoints are watched, no epoch is better
        than the one before: one that is saved for being the best is not saved in every epoch.
        """
        if logs and "val_accuracy" in logs and not self._judged_recorder.learns:
            logs["val_accuracy"] = float(logs["val_accuracy"]) + 0.1 * (self._judged_recorder.rank + 1)
        if logs and self._judged_recorder.files:
            for name, value in logs.items():
                logs[name] = float(value) + (-epoch if "accuracy" in name else epoch)
        self._judged_fit.epochs[-1].own = {name: float(value) for name, value in (logs or {}).items()}


class Last(Callback):
    """Stands behind a script's own callbacks: sees what they left behind."""

    def __init__(self, recorder: "HorovodRecorder", fit: Fit):
        """Write into these facts of a fit."""
        super().__init__()
        self._judged_recorder, self._judged_fit = recorder, fit

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Note the weights from which the update starts, and the rate at which it will be made."""
        self._judged_recorder.before = self._judged_recorder.project(self.model.trainable_weights)
        self._judged_recorder.rate = float(np.asarray(self.model.optimizer.learning_rate))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Note weights and the optimizer's variables as the next batch will find them."""
        self._judged_fit.batches[-1].after = self._judged_recorder.project(self.model.trainable_weights)
        self._judged_fit.batches[-1].slots = self._judged_recorder.project(self.model.optimizer.variables())

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Note which checkpoints there are now."""
        ended = self._judged_fit.epochs[-1]
        if self._judged_recorder.files:
            ended.saved = self._judged_recorder.files.new_checkpoints()
            ended.size = self._judged_recorder.files.largest(ended.saved)
