"""Run a program as one task of a TF_CONFIG cluster, watch what it does with tf.distribute and Keras, return the facts.

Used only by grader.ranks, in a process that will run nothing but this one program. Nothing here judges. Training runs
as a graph, as the strategies want it; what goes into a step is told by operations that are put into it.
"""

import inspect
import mmap
import os
import re
import signal
import sys
import zlib
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback
from tensorflow.python.distribute import collective_all_reduce_strategy, parameter_server_strategy_v2

from grader.companions import EVALUATED, make_mobilenet_shallow
from grader.gpus import Gpus
from grader.notes import Notes

KEPT = 500  # of whatever is listed


class TaskProbe(Notes):
    """Watches one program in one task; facts is what it saw, ready for JSON."""

    def __init__(self, script: str, number: int, board: mmap.mmap, gpus: int, dies_after: int | None):
        """Watch this program on a host with so many GPUs, and kill its process after so many batches, if at all."""
        facts = {
            "order": [],  # "strategy", "model", "fit": each as it first happened
            "lines": {},  # what -> the line of the script that called it
            "gpus": None,  # those that the script can see when it makes its strategy
            "strategies": [],  # the kind of each that was made, with its number of replicas
            "fits": [],
            "evaluations": [],  # the weights that the script evaluated, each time
            "newest": None,  # the checkpoint that is the newest one at the end
            "logs": [],  # the files for TensorBoard that this process wrote
            "saved": [],  # the paths that the script itself saved models to
            "error": None,
        }
        super().__init__(script, number, board, facts)
        self.gpus = Gpus(gpus)
        self.dies_after = dies_after
        self.batches = 0
        self.evaluated = None  # the model that was

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
            self.facts["gpus"], _ = self.gpus.settle()
            self.show("the start of the cluster")
            make(strategy, *args, **kwargs)
            self.show("")
            self.facts["strategies"].append([kind.__name__, strategy.num_replicas_in_sync])

        kind.__init__ = watched

    def watch_models(self) -> None:
        """Note how a model is built, trained and saved."""
        model = tf.keras.Model
        build, fit, evaluate = model.__init__, model.fit, model.evaluate
        save, save_weights = model.save, model.save_weights
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
                "steps_per_epoch": call.arguments["steps_per_epoch"],
                "strategy": type(this.distribute_strategy).__name__,
                "replicas": this.distribute_strategy.num_replicas_in_sync,
                "callbacks": [_described(callback) for callback in own],
                "images": [],  # of each training batch, the images in it
                "validation_images": [],
                "epochs": [],  # the training steps of each
                "in_parts": _in_parts(this),
                "places": _places(this),
                "begin": None,
                "end": None,
            }
            self.facts["fits"].append(record)
            strategy = this.distribute_strategy
            if not (strategy.extended._in_multi_worker_mode() or strategy._should_use_with_coordinator):
                sys.exit()  # it trains for itself alone: all would write into the same files, each when it gets there
            call.arguments["callbacks"] = [*own, Watcher(self, record)]
            self.show("model.fit")
            try:
                return fit(*call.args, **call.kwargs)
            finally:
                self.show("")

        def watched_evaluate(this, *args, **kwargs):
            if not kwargs.get("_use_cached_eval_dataset"):  # not fit()'s own validation
                self.note("evaluate")
                self.facts["gpus"], _ = self.gpus.settle()
                self.facts["evaluations"].append(self.project(this.get_weights()))
                self.evaluated = this
            result = evaluate(this, *args, **kwargs)
            EVALUATED.write_text(str(len(self.facts["evaluations"])))
            return result

        def watched_save(real):
            def call(this, filepath, *args, **kwargs):
                if self.called_by_script():
                    self.facts["saved"].append(os.path.abspath(filepath))  # noqa: PTH100  a text, as it was given
                return real(this, filepath, *args, **kwargs)

            return call

        model.__init__, model.fit, model.evaluate = watched_build, watched_fit, watched_evaluate
        model.save, model.save_weights = watched_save(save), watched_save(save_weights)

    def called_by_script(self) -> bool:
        """Return whether the function that asks was called by the script itself, and not by Keras."""
        return inspect.currentframe().f_back.f_back.f_code.co_filename == self.script

    def watch_images(self) -> None:
        """Note which images go into each step."""

        def noted(step, name):
            def call(model, data):
                images = data[0]
                if not model.distribute_strategy._should_use_with_coordinator:  # the step may be run elsewhere
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

    def look_at_files(self, logs: Path) -> None:
        """Note what an evaluator leaves in --log-dir, and what it finds there at the end."""
        own = f".{os.getpid()}."
        self.facts["logs"] = [str(path) for path in logs.rglob("events.out.tfevents.*") if own in path.name][:KEPT]
        newest = tf.train.latest_checkpoint(logs / "checkpoints")
        number = re.search(r"(\d+)$", newest or "")
        if number:
            self.evaluated.load_weights(newest).expect_partial()
            weights = self.project(self.evaluated.get_weights())
            self.facts["newest"] = {"number": int(number[1]), "weights": weights}

    def state(self, model) -> dict:
        """Return what has to be equal on all workers: weights, and how many steps they have behind them."""
        weights = [tf.convert_to_tensor(weight) for weight in model.trainable_weights]
        iterations = int(tf.convert_to_tensor(model.optimizer.iterations))
        return {"weights": self.project(weights), "iterations": iterations}


class Watcher(Callback):
    """Stands behind a program's own callbacks: sees what they left, and counts."""

    def __init__(self, probe: TaskProbe, record: dict):
        """Write into this record of a fit."""
        super().__init__()
        self._supports_tf_logs = True  # or Keras would refuse callbacks for batches where there are parameter servers
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


def _in_parts(model) -> list[list[int]]:
    """Return the variables that are kept in several parts: how many these are, and the shape of the first one."""
    parts = {}
    for variable in model.trainable_variables:
        name, part, _ = variable.name.rpartition("/part_")
        if part:
            parts.setdefault(name, []).append(list(variable.shape))
    return [[len(shapes), *shapes[0]] for shapes in parts.values() if len(shapes) > 1]


def _places(model) -> list[str]:
    """Return the kinds of tasks that the model's variables are on."""
    devices = {variable.device for variable in model.trainable_variables}
    return sorted({job[1] for job in (re.search(r"/job:(\w+)", device) for device in devices) if job})


def _described(callback: Callback) -> dict:
    """Return a callback's kind, and where it writes."""
    paths = (getattr(callback, name, None) for name in ("filepath", "log_dir", "_backup_dir", "backup_dir", "filename"))
    path = next((os.path.abspath(path) for path in paths if isinstance(path, str | os.PathLike)), None)  # noqa: PTH100
    kind = next(base.__name__ for base in type(callback).__mro__ if base.__module__.startswith("keras"))
    return {"kind": kind, "path": path}


def run(script: str, arguments: list[str], number: int, board: mmap.mmap, gpus: int, dies_after: int | None) -> dict:
    """Run the program as the main program and return what it did; see Notes.run."""
    probe = TaskProbe(script, number, board, gpus, dies_after)
    if gpus:
        probe.gpus.answer_tensorflow(lambda: probe.note_line("gpu"))
    make_mobilenet_shallow()
    probe.watch_strategies()
    probe.watch_models()
    probe.watch_images()
    probe.run(arguments)
    if probe.evaluated and not probe.facts["fits"]:
        probe.look_at_files(Path(arguments[arguments.index("--log-dir") + 1]))
    return probe.facts
