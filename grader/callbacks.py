"""What grader.probe puts before and behind a script's own callbacks, to see what each of them finds and leaves."""

import numpy as np
from tensorflow.keras.callbacks import Callback


class ReadLogs(dict):
    """Keras' logs, noting what each metric was when it was last read."""

    def __init__(self, logs=(), whole: bool = False):
        """Hold what logs holds; nothing, where Keras makes a copy of a dictionary's kind.

        whole says whether to note when all metrics are read at once, too, as Keras' own callbacks do that log them.
        """
        super().__init__(logs)
        self.last_read, self.whole = {}, whole

    def __getitem__(self, name):
        """Return the metric, and note it."""
        self.last_read[name] = value = super().__getitem__(name)
        return value

    def get(self, name, default=None):
        """Return the metric or the default, and note it."""
        return self[name] if name in self else default  # noqa: SIM401

    def items(self):
        """Return all metrics, and note them."""
        if self.whole:
            self.last_read.update(self)
        return super().items()


class First(Callback):
    """Stands before a script's own callbacks: sees what training did before any of them acts."""

    def __init__(self, probe, record: dict):
        """Write into this record of a fit."""
        super().__init__()
        self.probe, self.record = probe, record

    def on_epoch_begin(self, epoch, logs=None):
        """Begin an epoch."""
        epoch = {"steps": 0, "validation_steps": 0, "own": {}, "images": [], "validation_images": []}
        self.record["epochs"].append(epoch)

    def on_train_batch_end(self, batch, logs=None):
        """Note the gradient, and the weights as the update left them."""
        self.record["epochs"][-1]["steps"] += 1
        updated = self.probe.project(self.model.trainable_weights)
        self.record["batches"].append({**self.probe.begun, "local": self.probe.local, "updated": updated})

    def on_test_batch_end(self, batch, logs=None):
        """Count."""
        self.record["epochs"][-1]["validation_steps"] += 1

    def on_epoch_end(self, epoch, logs=None):
        """Note this rank's own metrics, after seeing to it that no two ranks have the same by chance."""
        if logs and "val_accuracy" in logs:
            logs["val_accuracy"] = float(logs["val_accuracy"]) + 0.1 * (self.probe.rank + 1)
        self.record["epochs"][-1]["own"] = {name: float(value) for name, value in (logs or {}).items()}


class Last(Callback):
    """Stands behind a script's own callbacks: sees what they left behind."""

    def __init__(self, probe, record: dict):
        """Write into this record of a fit."""
        super().__init__()
        self.probe, self.record = probe, record

    def on_train_batch_begin(self, batch, logs=None):
        """Note the weights from which the update starts, and the rate at which it will be made."""
        self.probe.begun = {
            "before": self.probe.project(self.model.trainable_weights),
            "rate": float(np.asarray(self.model.optimizer.learning_rate)),
        }

    def on_train_batch_end(self, batch, logs=None):
        """Note weights and the optimizer's variables as the next batch will find them."""
        self.record["batches"][-1] |= {
            "after": self.probe.project(self.model.trainable_weights),
            "slots": self.probe.project(self.model.optimizer.variables()),
        }
