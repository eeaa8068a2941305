"""Run a program as one task of a TF_CONFIG cluster, watch what it does with tf.distribute and Keras, return the facts.

Runs in a process that will run nothing but this one program. Nothing here judges. Training runs as a graph, as the
strategies want it; what goes into a step is noted by operations that are put into it.
"""

import contextlib
import inspect
import mmap
import os
import re
import signal
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback
from tensorflow.python.distribute import collective_all_reduce_strategy, parameter_server_strategy_v2

from course.internal.keras_fit import FitCall, wrap_fit
from grader.facts import Checkpoint, Progress, TaskFacts, TaskFit, Writer
from grader.job import LOGS, Topology
from grader.sandboxed.companions import EVALUATED, make_mobilenet_shallow
from grader.sandboxed.gpus import Gpus
from grader.sandboxed.recorder import Recorder, plain

KEPT = 500  # of whatever is listed
STRATEGIES = (
    collective_all_reduce_strategy.CollectiveAllReduceStrategy,
    parameter_server_strategy_v2.ParameterServerStrategyV2,
)


class TaskRecorder(Recorder[TaskFacts]):
    """Records one program in one task."""

    def __init__(self, script: str, number: int, board: mmap.mmap, gpus: int, dies_after: int | None):
        """Record this program on a host with so many GPUs, and kill its process after so many batches, if at all."""
        super().__init__(script, number, board, TaskFacts())
        self.gpus = Gpus(gpus)
        self.dies_after = dies_after
        self.batches = 0
        self.evaluated: Any = None  # the model that was

    def watch_strategies(self) -> None:
        """Note which strategies are made."""
        for kind in STRATEGIES:
            self._watch_making(kind)

    def _watch_making(self, kind: Any) -> None:
        make = kind.__init__

        def watched(strategy: Any, *args: Any, **kwargs: Any) -> None:
            self.note("strategy")
            self.facts.gpus, _ = self.gpus.settle()
            self.show("the start of the cluster")
            make(strategy, *args, **kwargs)
            self.show("")
            self.facts.strategies.append((kind.__name__, strategy.num_replicas_in_sync))

        kind.__init__ = watched

    def watch_models(self) -> None:
        """Note how a model is built, trained, evaluated and saved."""
        model = tf.keras.Model
        build, evaluate = model.__init__, model.evaluate

        def watched_build(this: Any, *args: Any, **kwargs: Any) -> None:
            self.note("model")
            build(this, *args, **kwargs)

        def watched_evaluate(this: Any, *args: Any, **kwargs: Any) -> Any:
            if not kwargs.get("_use_cached_eval_dataset"):  # not fit()'s own validation
                self.note("evaluate")
                self.facts.gpus, _ = self.gpus.settle()
                self.facts.evaluations.append(self.project(this.get_weights()))
                self.evaluated = this
            result = evaluate(this, *args, **kwargs)
            EVALUATED.write_text(str(len(self.facts.evaluations)))
            return result

        model.__init__, model.evaluate = watched_build, watched_evaluate
        model.save, model.save_weights = self._watched_save(model.save), self._watched_save(model.save_weights)
        wrap_fit(self.record_fit)

    def _watched_save(self, save: Callable[..., Any]) -> Callable[..., Any]:
        def call(this: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
            caller = inspect.currentframe().f_back  # type: ignore[union-attr]
            if caller and caller.f_code.co_filename == self.script:  # and not Keras
                self.facts.saved.append(os.path.abspath(filepath))  # noqa: PTH100  a text, as it was given
            return save(this, filepath, *args, **kwargs)

        return call

    @contextlib.contextmanager
    def record_fit(self, call: FitCall) -> Iterator[None]:
        """Record one call of model.fit; a model that trains by itself alone ends its task."""
        self.note("fit")
        strategy, steps = call.model.distribute_strategy, call.arguments["steps_per_epoch"]
        fit = TaskFit(
            strategy=type(strategy).__name__,
            replicas=strategy.num_replicas_in_sync,
            callbacks=[_writer(callback) for callback in call.callbacks],
            steps_per_epoch=None if steps is None else plain(steps),
            in_parts=_in_parts(call.model),
            places=_places(call.model),
        )
        self.facts.fits.append(fit)
        if not (strategy.extended._in_multi_worker_mode() or strategy._should_use_with_coordinator):
            sys.exit()  # all tasks would write into the same files, each when it gets there
        call.behind = [Watcher(self, fit)]
        self.show("model.fit")
        try:
            yield
        finally:
            self.show("")

    def watch_images(self) -> None:
        """Note which images go into each step."""

        def noted(step: Callable[..., Any], validates: bool) -> Callable[..., Any]:
            def call(model: Any, data: Any) -> Any:
                images = data[0]
                if not model.distribute_strategy._should_use_with_coordinator:  # the step may be run elsewhere
                    tf.numpy_function(lambda seen: self._note_images(validates, seen), [images], [])
                return step(model, data)

            return call

        model = tf.keras.Model
        model.train_step = noted(model.train_step, validates=False)
        model.test_step = noted(model.test_step, validates=True)

    def _note_images(self, validates: bool, images: Any) -> None:
        if self.facts.fits:
            fit = self.facts.fits[-1]
            batches = fit.validation_images if validates else fit.images
            if len(batches) < KEPT:
                batches.append([_number(image) for image in images])

    def look_at_files(self, logs: Path) -> None:
        """Note what an evaluator leaves in --log-dir, and what it finds there at the end."""
        own = f".{os.getpid()}."
        self.facts.logs = [str(path) for path in logs.rglob("events.out.tfevents.*") if own in path.name][:KEPT]
        newest = tf.train.latest_checkpoint(logs / "checkpoints")
        number = re.search(r"(\d+)$", newest or "")
        if number:
            self.evaluated.load_weights(newest).expect_partial()
            self.facts.newest = Checkpoint(int(number[1]), self.project(self.evaluated.get_weights()))

    def progress(self, model: Any) -> Progress:
        """Return what has to be equal on all workers: weights, and the number of steps that led to them."""
        weights = [tf.convert_to_tensor(weight) for weight in model.trainable_weights]
        return Progress(self.project(weights), int(tf.convert_to_tensor(model.optimizer.iterations)))


class Watcher(Callback):
    """Stands behind a program's own callbacks: sees what they left, and counts."""

    def __init__(self, recorder: TaskRecorder, fit: TaskFit):
        """Write into these facts of a fit."""
        super().__init__()
        self._supports_tf_logs = True  # or Keras would refuse callbacks for batches where there are parameter servers
        self.recorder, self.fit = recorder, fit

    def on_train_begin(self, logs: Any = None) -> None:
        """Note what training begins with, once a callback that restores a backup has done so."""
        self.fit.begin = self.recorder.progress(self.model)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin an epoch."""
        self.fit.epochs.append(0)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Count, and die where it is time."""
        self.fit.epochs[-1] += 1
        self.recorder.batches += 1
        if self.recorder.batches == self.recorder.dies_after:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_train_end(self, logs: Any = None) -> None:
        """Note what training ends with."""
        self.fit.end = self.recorder.progress(self.model)


def _number(image: Any) -> int:
    """Return a number that tells an image from others, however its values were scaled."""
    flat = np.ravel(image).astype(np.float64)
    low, high = flat.min(), flat.max()
    return zlib.crc32(np.rint(255 * (flat - low) / max(high - low, 1e-9)).astype(np.uint8).tobytes())


def _in_parts(model: Any) -> list[list[int]]:
    """Return the variables that are kept in several parts: how many these are, and the shape of the first one."""
    parts: dict[str, list[list[int]]] = {}
    for variable in model.trainable_variables:
        name, part, _ = variable.name.rpartition("/part_")
        if part:
            parts.setdefault(name, []).append(list(variable.shape))
    return [[len(shapes), *shapes[0]] for shapes in parts.values() if len(shapes) > 1]


def _places(model: Any) -> list[str]:
    """Return the types of tasks that hold the model's variables."""
    devices = {variable.device for variable in model.trainable_variables}
    return sorted({job[1] for job in (re.search(r"/job:(\w+)", device) for device in devices) if job})


def _writer(callback: Callback) -> Writer:
    """Return a callback's kind, and where it writes."""
    paths = (getattr(callback, name, None) for name in ("filepath", "log_dir", "_backup_dir", "backup_dir", "filename"))
    path = next((os.path.abspath(path) for path in paths if isinstance(path, str | os.PathLike)), None)  # noqa: PTH100
    kind = next(base.__name__ for base in type(callback).__mro__ if base.__module__.startswith("keras"))
    return Writer(kind, path)


def run(script: str, topology: Topology, number: int, board: mmap.mmap) -> TaskRecorder:
    """Run the program as the main program of this task, and return its recorder."""
    task, after = topology.dies or (None, None)
    recorder = TaskRecorder(script, number, board, topology.gpus, after if number == task else None)
    if topology.gpus:
        recorder.gpus.answer_tensorflow(lambda: recorder.note_line("gpu"))
    make_mobilenet_shallow()
    recorder.watch_strategies()
    recorder.watch_models()
    recorder.watch_images()
    recorder.run(topology.arguments)
    if recorder.evaluated and not recorder.facts.fits:
        recorder.look_at_files(Path(LOGS))
    return recorder
