"""Run a program as one task of a TF_CONFIG cluster, watch what it does with tf.distribute and Keras, return the facts.

Used only by grader.ranks, in a process that will run nothing but this one program. Nothing here judges. Training runs
as a graph, as the strategies want it; what goes into a step is told by operations that are put into it.
"""

import inspect
import mmap
import os
import signal
import sys
import zlib

import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback
from tensorflow.python.distribute import collective_all_reduce_strategy, parameter_server_strategy_v2

from grader.notes import Notes

KEPT = 500  # of whatever is listed


class TaskProbe(Notes):
    """Watches one program in one task; facts is what it saw, ready for JSON."""

    def __init__(self, script: str, number: int, board: mmap.mmap, dies_after: int | None):
        """Watch this program, and kill its process after so many batches, if at all."""
        facts = {
            "order": [],  # "strategy", "model", "fit": each as it first happened
            "lines": {},  # what -> the line of the script that called it
            "strategies": [],  # the kind of each that was made, with its number of replicas
            "fits": [],
            "evaluators": [],  # each SidecarEvaluator's settings
            "saved": [],  # the paths that the script itself saved models to
            "error": None,
        }
        super().__init__(script, number, board, facts)
        self.dies_after = dies_after
        self.batches = 0

    def watch_strategies(self) -> None:
        """Note which strategies are made."""
        for kind in (
            collective_all_reduce_strategy.CollectiveAllReduceStrategy,
            parameter_server_strategy_v2.ParameterServerStrategyV2,
        ):
            self._watch_making(kind)

    def _watch_making(self, kind: type) -> None:
        make = kind.__init__

        def watched(strategy, *args, **kwargs):
            self.note("strategy")
            self.show("the start of the cluster")
            make(strategy, *args, **kwargs)
            self.show("")
            self.facts["strategies"].append([kind.__name__, strategy.num_replicas_in_sync])

        kind.__init__ = watched

    def watch_models(self) -> None:
        """Note how a model is built, trained and saved."""
        model = tf.keras.Model
        build, fit, save, save_weights = model.__init__, model.fit, model.save, model.save_weights
        signature = inspect.signature(fit)

        def watched_build(this, *args, **kwargs):
            self.note("model")
            build(this, *args, **kwargs)

        def watched_fit(this, *args, **kwargs):
            self.note("fit")
            call = signature.bind(this, *args, **kwargs)
            call.apply_defaults()
            given = call.arguments["callbacks"]
            own = list(given.callbacks if isinstance(given, tf.keras.callbacks.CallbackList) else given or [])
            record = {
                "verbose": call.arguments["verbose"],
                "strategy": type(this.distribute_strategy).__name__,
                "replicas": this.distribute_strategy.num_replicas_in_sync,
                "callbacks": [_described(callback) for callback in own],
                "images": [],  # of each training batch, the images in it
                "validation_images": [],
                "epochs": [],  # the training steps of each
                "begin": None,
                "end": None,
            }
            self.facts["fits"].append(record)
            if not this.distribute_strategy.extended._in_multi_worker_mode():
                sys.exit()  # it trains for itself alone: all would write into the same files, each when it gets there
            call.arguments["callbacks"] = [*own, Watcher(self, record)]
            self.show("model.fit")
            try:
                return fit(*call.args, **call.kwargs)
            finally:
                self.show("")

        def watched_save(real):
            def call(this, filepath, *args, **kwargs):
                if self.called_by_script():
                    self.facts["saved"].append(os.path.abspath(filepath))  # noqa: PTH100  a text, as it was given
                return real(this, filepath, *args, **kwargs)

            return call

        model.__init__, model.fit = watched_build, watched_fit
        model.save, model.save_weights = watched_save(save), watched_save(save_weights)

    def called_by_script(self) -> bool:
        """Return whether the function that asks was called by the script itself, and not by Keras."""
        return inspect.currentframe().f_back.f_back.f_code.co_filename == self.script

    def watch_images(self) -> None:
        """Note which images go into each step."""

        def noted(step, name):
            def call(model, data):
                images = data[0]
                if isinstance(images, tf.Tensor):
                    tf.numpy_function(lambda seen: self._note_images(name, seen), [images], [])
                return step(model, data)

            return call

        model = tf.keras.Model
        model.train_step = noted(model.train_step, "images")
        model.test_step = noted(model.test_step, "validation_images")

    def _note_images(self, name: str, images: np.ndarray) -> None:
        batches = self.facts["fits"][-1][name] if self.facts["fits"] else []
        if len(batches) < KEPT:
            batches.append([_number(image) for image in images])

    def state(self, model) -> dict:
        """Return what has to be equal on all workers: weights, and how many steps they have behind them."""
        weights = [weight.numpy() for weight in model.trainable_weights]
        return {"weights": self.project(weights), "iterations": int(model.optimizer.iterations.numpy())}


class Watcher(Callback):
    """Stands behind a program's own callbacks: sees what they left, and counts."""

    def __init__(self, probe: TaskProbe, record: dict):
        """Write into this record of a fit."""
        super().__init__()
        self.probe, self.record = probe, record

    def on_train_begin(self, logs=None):
        """Note what training begins with, once whoever restores a backup has done so."""
        self.record["begin"] = self.probe.state(self.model)

    def on_epoch_begin(self, epoch, logs=None):
        """Begin an epoch."""
        self.record["epochs"].append(0)

    def on_train_batch_end(self, batch, logs=None):
        """Count, and die where it is time."""
        self.record["epochs"][-1] += 1
        self.probe.batches += 1
        if self.probe.batches == self.probe.dies_after:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_train_end(self, logs=None):
        """Note what training ends with."""
        self.record["end"] = self.probe.state(self.model)


def _number(image: np.ndarray) -> int:
    """Return a number that tells an image from others, however its values were scaled."""
    flat = np.ravel(image).astype(np.float64)
    low, high = flat.min(), flat.max()
    return zlib.crc32(np.rint(255 * (flat - low) / max(high - low, 1e-9)).astype(np.uint8).tobytes())


def _described(callback: Callback) -> dict:
    """Return a callback's kind, and where it writes."""
    paths = (getattr(callback, name, None) for name in ("filepath", "log_dir", "_backup_dir", "backup_dir", "filename"))
    path = next((os.path.abspath(path) for path in paths if isinstance(path, str | os.PathLike)), None)  # noqa: PTH100
    kind = next(base.__name__ for base in type(callback).__mro__ if base.__module__.startswith("keras"))
    return {"kind": kind, "path": path}


def run(script: str, arguments: list[str], number: int, board: mmap.mmap, dies_after: int | None) -> dict:
    """Run the program as the main program and return what it did; see Notes.run."""
    probe = TaskProbe(script, number, board, dies_after)
    probe.watch_strategies()
    probe.watch_models()
    probe.watch_images()
    probe.run(arguments)
    return probe.facts
