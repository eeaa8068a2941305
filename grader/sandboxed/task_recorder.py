"""Run a program as one task of a TF_CONFIG cluster, watch what it does with tf.distribute and Keras, return the facts.

Runs in a process that will run nothing but this one program. Nothing here judges. Training runs as a graph, as the
strategies want it; what goes into a step is noted by operations that are put into it.
"""

import atexit
import contextlib
import mmap
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from keras.src.distribute import worker_training_state
from tensorflow.python.distribute import collective_all_reduce_strategy, parameter_server_strategy_v2
from tensorflow.python.eager import context
from tensorflow.python.training import server_lib

from course import tf_config
from course.internal.simulated_gpus import Gpus
from course.record import calls
from course.record.keras_hooks import FitCall, watch_steps, wrap_fit
from grader.sandboxed import evaluator_pacing, strategy_facts
from grader.sandboxed.course_tasks import make_mobilenet_shallow
from grader.sandboxed.recorder import Recorder, draw_weights, plain
from grader.terms.clusters import LOGS, AnyCluster, Killed, Refused
from grader.terms.facts import Checkpoint, Progress, Save, TaskFacts, TaskFit

KEPT = 500  # of whatever is listed
SEEN = 64  # images of an evaluation
STRATEGIES = (
    collective_all_reduce_strategy.CollectiveAllReduceStrategy,
    parameter_server_strategy_v2.ParameterServerStrategyV2,
)


class TaskRecorder(Recorder[TaskFacts]):
    """Records one program in one task."""

    def __init__(self, script: str, number: int, shared: mmap.mmap, gpus: int, dies_after: int | None):
        """Record this program on a host with so many GPUs, and kill its process after so many batches, if at all."""
        super().__init__(script, number, shared, TaskFacts())
        self.gpus = Gpus(gpus)
        self.dies_after = dies_after
        self.batches = 0
        self.evaluated: Any = None  # the model that was
        self.logs = Path(LOGS).absolute()  # as the script may change the working directory
        self.pacing: evaluator_pacing.PacedSleep | None = None
        self.refused = self.learns = False

    def be_task(self, cluster: AnyCluster) -> None:
        """Be ready to stop a script that is not to do this task."""
        self.refused, self.learns = isinstance(cluster, Refused), cluster.learns
        if self.refused or cluster.tasks[self.rank].type == "evaluator":
            self.pacing = evaluator_pacing.PacedSleep(self, Path.cwd(), self.refused)

    def work(self, event: str) -> None:
        """Note that the script starts to work, and stop it there if the task is none of its own."""
        self.note(event)
        if self.refused:
            sys.exit()

    def watch_start(self) -> None:
        """Note whether TF_CONFIG is checked, and whether the script starts a server of its own."""

        def end_at_join(server: Any) -> None:
            if self.called_by_script():
                raise SystemExit("it would wait indefinitely: join() of a server never returns")

        calls.before(tf_config, "check", lambda *args, **kwargs: self.note("tf_config"))
        calls.before(server_lib.Server, "__init__", lambda *args, **kwargs: self.work("server"))
        calls.before(server_lib.Server, "join", end_at_join)

    def watch_strategies(self) -> None:
        """Note which strategies are made."""
        for kind in STRATEGIES:
            self._watch_making(kind)

    def _watch_making(self, kind: Any) -> None:
        make = kind.__init__

        def watched(strategy: Any, *args: Any, **kwargs: Any) -> None:
            self.work("strategy")
            self.facts.gpus, _ = self.gpus.settle()
            self.show("the start of the cluster")
            make(strategy, *args, **kwargs)
            self.show("")
            self.facts.strategies.append((kind.__name__, strategy.num_replicas_in_sync))
            options = getattr(strategy.extended, "_communication_options", None)
            if options:
                self.facts.communication.append(options.implementation.value)
            if kind is STRATEGIES[-1]:
                self.facts.parts = strategy_facts.parts_by_size(strategy.extended._variable_partitioner)

        kind.__init__ = watched

    def watch_models(self) -> None:
        """Note how a model is built, trained, evaluated and saved."""

        def note_build(*args: Any, **kwargs: Any) -> None:
            self.note("model")
            self.facts.built = type(tf.distribute.get_strategy()).__name__

        def note_evaluation(this: Any, *args: Any, **kwargs: Any) -> None:
            if not kwargs.get("_use_cached_eval_dataset"):  # not fit()'s own validation
                self.work("evaluate")
                self.facts.gpus, _ = self.gpus.settle()
                self.facts.evaluations.append(self.project(this.get_weights()))
                self.facts.newest.append(len(list(self.logs.glob("checkpoints/*.index"))))
                self.facts.evaluated.append([])
                self.evaluated = this

        def note_save(this: Any, filepath: Any, *args: Any, **kwargs: Any) -> None:
            path = os.path.abspath(filepath)  # noqa: PTH100  a text, as it was given
            if self.called_by_script():
                self.facts.saved.append(path)
            if this.optimizer:
                _note_save(self.facts.saves, path, this)

        calls.before(tf.keras.Model, "__init__", note_build)
        calls.before(tf.keras.Model, "evaluate", note_evaluation)
        if self.pacing:
            calls.after(tf.keras.Model, "evaluate", self.pacing.evaluated)
        for name in ("save", "save_weights"):
            calls.before(tf.keras.Model, name, note_save)
        wrap_fit(self.record_fit)

    def watch_backups(self) -> None:
        """Note each backup that a worker's BackupAndRestore makes."""

        def note(this: Any, *args: Any, **kwargs: Any) -> None:
            if this._model.distribute_strategy.extended._in_multi_worker_mode():
                _note_save(self.facts.backups, this.write_checkpoint_manager.directory, this._model)

        calls.before(worker_training_state.WorkerTrainingState, "back_up", note)

    @contextlib.contextmanager
    def record_fit(self, call: FitCall) -> Iterator[None]:
        """Record one call of model.fit; a model that trains by itself alone ends its task."""
        self.work("fit")
        if not self.facts.strategies:
            self.facts.gpus, _ = self.gpus.settle()
        strategy, steps = call.model.distribute_strategy, call.arguments["steps_per_epoch"]
        fit = TaskFit(
            strategy=type(strategy).__name__,
            callbacks=[strategy_facts.writer(callback) for callback in call.callbacks],
            steps_per_epoch=None if steps is None else plain(steps),
            in_parts=strategy_facts.in_parts(call.model),
            places=strategy_facts.places(call.model),
            divided=strategy_facts.is_divided(call.arguments["x"]),
            sharded=strategy_facts.is_sharded(call.arguments["x"]),
            data=strategy_facts.kind_of(call.arguments["x"]),
            seed=context.global_seed(),
        )
        self.facts.fits.append(fit)
        if self.learns:
            with strategy.scope():
                draw_weights(call.model.trainable_weights, np.random.default_rng(0))
        if fit.data == strategy_facts.CREATOR.__name__ and self.dies_after is None:
            with strategy.scope():
                fit.input = strategy_facts.input_made(call.arguments["x"])
        alone = not (strategy.extended._in_multi_worker_mode() or strategy._should_use_with_coordinator)
        if alone and not self.learns:
            sys.exit()  # all tasks would write into the same files, each when it gets there
        if strategy.extended._in_multi_worker_mode():
            fit.entered = self.progress(call.model)
        call.listener = TaskFitListener(self, call.model, fit)
        self.show("model.fit")
        try:
            yield
        finally:
            self.show("")

    def watch_images(self) -> None:
        """Note which images go into each step."""

        def note(model: Any, validates: bool, data: Any) -> None:
            if not model.distribute_strategy._should_use_with_coordinator:  # the step may be run elsewhere
                tf.numpy_function(lambda seen: self._note_images(validates, seen), [data[0]], [])

        watch_steps(note)

    def _note_images(self, validates: bool, images: Any) -> None:
        if self.facts.fits:
            fit = self.facts.fits[-1]
            batches = fit.validation_images if validates else fit.images
            if len(batches) < KEPT:
                batches.append([strategy_facts.number_of(image) for image in images])
        elif self.facts.evaluated:
            seen = self.facts.evaluated[-1]
            seen += [strategy_facts.number_of(image) for image in images][: SEEN - len(seen)]

    def look_at_files(self) -> None:
        """Note what an evaluator leaves in --log-dir, and what it finds there at the end."""
        curves = strategy_facts.curves(self.logs)
        self.facts.logs, self.facts.points = list(curves), sum(curves.values())
        for path in sorted(self.logs.glob("checkpoints/*-*.index"))[: strategy_facts.FILES]:
            number = re.search(r"-(\d+)$", path.stem)
            if number:
                self.evaluated.load_weights(str(path.with_suffix(""))).expect_partial()
                self.facts.checkpoints.append(Checkpoint(int(number[1]), self.project(self.evaluated.get_weights())))

    def look_for_remains(self) -> None:
        """Note which folders are still there that this worker wrote to, once what runs at exit has run."""
        callbacks = [callback for fit in self.facts.fits for callback in fit.callbacks]
        paths = {callback.path for callback in callbacks if callback.path and callback.kind != "BackupAndRestore"}
        paths.update(save.path for save in self.facts.saves)
        folders = {path if Path(path).is_dir() else str(Path(path).parent) for path in paths}
        self.facts.remains = sorted(folder for folder in folders if Path(folder).exists())[:KEPT]

    def progress(self, model: Any) -> Progress:
        """Return what has to be equal on all workers: weights, and the number of steps that led to them."""
        weights = [tf.convert_to_tensor(weight) for weight in model.trainable_weights]
        return Progress(self.project(weights), _steps_behind(model))


class TaskFitListener:
    """Listens to one call of model.fit under a strategy, and fills in its facts."""

    def __init__(self, recorder: TaskRecorder, model: Any, fit: TaskFit):
        """Listen to the training of this model for a recorder."""
        self.recorder, self.model, self.fit = recorder, model, fit

    def training_begins(self, logs: Any) -> None:
        """Note what training begins with, once a callback that restores a backup has done so."""
        state = getattr(self.model, "_training_state", None)
        self.fit.restored = bool(state and int(tf.convert_to_tensor(state._ckpt_saved_epoch)) >= 0)
        self.fit.begin = self.recorder.progress(self.model)

    def epoch_begins(self, epoch: int, logs: Any) -> None:
        """Begin an epoch."""
        self.fit.epochs.append(0)

    def batch_ends(self, batch: int, logs: Any) -> None:
        """Count, and die where it is time."""
        self.fit.epochs[-1] += 1
        self.recorder.batches += 1
        if self.recorder.batches == self.recorder.dies_after:
            os.kill(os.getpid(), signal.SIGKILL)

    def epoch_ends(self, epoch: int, logs: Any) -> None:
        """Note the accuracy on the images held out."""
        if "val_accuracy" in (logs or {}):
            self.fit.accuracies.append(float(logs["val_accuracy"]))

    def training_ends(self, logs: Any) -> None:
        """Note what training ends with."""
        self.fit.end = self.recorder.progress(self.model)


def _note_save(saves: list[Save], path: str, model: Any) -> None:
    if len(saves) < KEPT:
        saves.append(Save(path, _steps_behind(model)))


def _steps_behind(model: Any) -> int:
    return int(tf.convert_to_tensor(model.optimizer.iterations))


def run(script: str, cluster: AnyCluster, number: int, shared: mmap.mmap) -> TaskRecorder:
    """Run the program as the main program of this task, and return its recorder."""
    dies_after = cluster.batches if isinstance(cluster, Killed) and cluster.task == number else None
    recorder = TaskRecorder(script, number, shared, cluster.gpus, dies_after)
    if cluster.gpus:
        recorder.gpus.answer_tensorflow(lambda: recorder.note_line("gpu"), lambda: recorder.note_line("devices used"))
    make_mobilenet_shallow()
    recorder.be_task(cluster)
    recorder.watch_start()
    recorder.watch_strategies()
    recorder.watch_models()
    recorder.watch_images()
    workers = all(spec.type == "worker" for spec in cluster.tasks)
    if workers:
        recorder.watch_backups()
    recorder.run(cluster.tasks[number].arguments or cluster.arguments)
    if workers:
        atexit._run_exitfuncs()  # a rank ends without these: what the script left for its end runs now
        recorder.look_for_remains()
    if recorder.pacing:
        recorder.pacing.ended()
    if recorder.evaluated and not recorder.facts.fits:
        recorder.look_at_files()
    return recorder
