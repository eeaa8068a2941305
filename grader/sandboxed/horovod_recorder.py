"""Run a training script inside one rank of Horovod, watch TensorFlow and Horovod, and return the facts.

Runs in a process that will run nothing but this one script. Nothing here judges: it notes what happened. GPUs are
simulated: tf.config answers for as many as the cluster gives the host. Training runs eagerly, which saves the tracing
of a graph, and lets gradients and weights be read where they are made.
"""

import contextlib
import inspect
import mmap
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf
from keras.src.engine import functional

from course.internal.simulated_gpus import Gpus
from course.record import calls, horovod_hooks
from course.record.keras_hooks import FitCall, watch_steps, wrap_fit
from grader.sandboxed import script_callbacks, seeds
from grader.sandboxed.files import WatchedFiles
from grader.sandboxed.recorder import Recorder, draw_weights, plain, salted_hash
from grader.terms.clusters import HOST, MISSING, AnyCluster, Folders, Refused, Resumed
from grader.terms.facts import Batch, Epoch, Fit, HorovodFacts, Projection, State

APART = 0.05  # relative: by so much weights of new models differ between ranks at least
SHIFT = 0.1  # between the accuracies that two ranks measure, which are alike by chance otherwise


class HorovodRecorder(Recorder[HorovodFacts]):
    """Records one script in one rank."""

    def __init__(self, script: str, cluster: AnyCluster, rank: int, shared: mmap.mmap):
        """Record this script on a rank of this cluster."""
        super().__init__(script, rank, shared, HorovodFacts())
        self.learns = cluster.learns  # whether the accuracy that training reaches is looked at: see set_apart()
        self.refused = isinstance(cluster, Refused)
        self.gpus = Gpus(cluster.gpus)
        self.files: WatchedFiles | None = None
        self.local: Projection | None = None  # the gradients that this rank computed last
        self.trained: Any = None  # the model that was, last
        self.built: WeakKeyDictionary[Any, Projection] = WeakKeyDictionary()  # by model: its first weights
        self.weighted: WeakKeyDictionary[Any, list[float]] = WeakKeyDictionary()  # by model: its losses' weights

    def encoded(self) -> bytes:
        """Return the facts as msgpack, with what the rank's host holds by now."""
        if self.files:
            self.facts.files = self.files.facts()
        return super().encoded()

    def project(self, tensors: Iterable[Any]) -> Projection:
        """Return the projection of tensors; an empty one where no weights are compared, which saves the time."""
        return [] if self.learns else super().project(tensors)

    # --- input and output --------------------------------------------------------------------------------------------

    def watch_images(self) -> None:
        """Note which images go into each step, by their mean colours: no two of the judge's images are alike."""

        def note(model: Any, validates: bool, data: Any) -> None:
            if self.facts.fits and self.facts.fits[-1].epochs and len(np.shape(data[0])) == 4:
                epoch = self.facts.fits[-1].epochs[-1]
                images = epoch.validation_images if validates else epoch.images
                means = np.asarray(data[0]).mean(axis=(1, 2))
                digits = 4 if means.shape[-1] == 1 else 2  # augmentation blurs colours: two digits of them stay
                images += ["/".join(f"{part:.{digits}f}" for part in colour) for colour in means]

        watch_steps(note)

    def watch_files(self, folders: Folders, cluster: AnyCluster) -> None:
        """Note which files the script opens in these folders; a host's first rank puts there what it is to find."""
        self.files = WatchedFiles(folders)
        host, local_rank = cluster.place(self.rank)
        if isinstance(cluster, Resumed) and cluster.found and not local_rank:
            self.files.find(host, cluster.found)
        self.files.watch()

    def watch_output(self) -> None:
        """Note the line that prints first."""
        for stream in (sys.stdout, sys.stderr):
            calls.before(stream, "write", lambda text: self.note_line("print"))

    # --- training ----------------------------------------------------------------------------------------------------

    def watch_gradients(self) -> None:
        """Note the gradients that this rank computes by itself, before anything averages them."""
        gradient = tf.GradientTape.gradient

        def watched(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            result = gradient(tape, target, sources, *args, **kwargs)
            self.local = self.project(tf.nest.flatten(result))
            return result

        tf.GradientTape.gradient = watched

    def watch_model(self) -> None:
        """Note when a model is built, how it is compiled and trained."""
        compile_ = tf.keras.Model.compile
        signature = inspect.signature(compile_)

        def note_build(this: Any, *args: Any, **kwargs: Any) -> None:
            self.facts.gpus, self.facts.memory_growth = self.gpus.settle()
            self.note("model")
            if self.refused:
                sys.exit()

        def note_wired(this: Any, *args: Any, **kwargs: Any) -> None:
            self.set_apart(this.trainable_weights)
            self.built[this] = self.project(this.trainable_weights)

        def watched_compile(this: Any, *args: Any, **kwargs: Any) -> None:
            if this.trainable_weights:  # a subclass of Model may have none before its first step
                self.built.setdefault(this, self.project(this.trainable_weights))
            given = signature.bind(this, *args, **kwargs)
            weights = given.arguments.get("loss_weights")
            self.weighted[this] = [float(weight) for weight in tf.nest.flatten(weights) if weight is not None]
            # Gradients and weights are read in steps that run eagerly, whatever the script would have.
            given.arguments.update(run_eagerly=None, jit_compile=None)
            compile_(*given.args, **given.kwargs)

        calls.before(tf.keras.Model, "__init__", note_build)
        calls.after(functional.Functional, "_init_graph_network", note_wired)
        tf.keras.Model.compile = watched_compile
        wrap_fit(self.record_fit)

    def set_apart(self, weights: list[Any]) -> None:
        """Change the weights of a new model a little, on each rank but 0 in its own way.

        Ranks that draw from one seed would begin alike, and whether they take rank 0's weights could not be seen.
        Where the accuracy is looked at, all matrices are drawn anew: it depends on the weights that training begins
        with more than on anything else, so rank 0's are the same in each script's run, whatever it has drawn before.
        """
        random = np.random.default_rng(self.rank)
        if self.learns:
            draw_weights(weights, random)
        for weight in weights if self.rank else ():
            weight.assign(weight * (1 + APART * random.standard_normal(weight.shape)))

    @contextlib.contextmanager
    def record_fit(self, call: FitCall) -> Iterator[None]:
        """Record one call of model.fit."""
        self.note("fit")
        if call.model not in self.weighted:  # it was never compiled, and Keras says so
            yield
            return
        fit = self._continued(call) or self._begun(call)
        if self.files:
            self.files.train(fit)
        call.listener = FitListener(self, call.model, fit)
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: setattr(fit, "end", self.state(call.model)))
            for callback in call.callbacks:
                stack.enter_context(script_callbacks.watched_reads(callback, fit))
            yield
            self.note("trained")
        if self.files:
            fit.schedule = script_callbacks.later_rates(call, fit.epochs[-1].steps if fit.epochs else 0)

    def _continued(self, call: FitCall) -> Fit | None:
        """Return the facts of the training that a call continues: that of the same model, up to the epoch before."""
        fit = self.facts.fits[-1] if self.facts.fits and self.trained is call.model else None
        first = int(call.arguments["initial_epoch"])
        return fit if fit and fit.epochs and first == fit.initial_epoch + len(fit.epochs) else None

    def _begun(self, call: FitCall) -> Fit:
        """Note that a training begins, and return its facts."""
        self.trained, steps = call.model, call.arguments["steps_per_epoch"]
        fit = Fit(
            verbose=plain(call.arguments["verbose"]),
            optimizer=_describe(call.model.optimizer),
            callbacks=[type(callback).__name__ for callback in call.callbacks],
            loss_weights=self.weighted[call.model],
            steps_per_epoch=None if steps is None else int(steps),
            log_dirs=[str(log.log_dir) for log in call.callbacks if isinstance(log, tf.keras.callbacks.TensorBoard)],
            weights_built=self.built.get(call.model),
            initial_epoch=int(call.arguments["initial_epoch"]),
            begin=self.state(call.model),
            generator=seeds.state(),
        )
        self.facts.fits.append(fit)
        return fit

    def state(self, model: Any) -> State:
        """Return what a checkpoint has to restore: trainable weights, the optimizer's slots and its iterations."""
        variables = model.optimizer.variables()
        return State(
            weights=self.project(model.trainable_weights),
            statistics=self.project(model.non_trainable_weights),
            slots=self.project([variable for variable in variables if variable.shape.rank]),
            iterations=int(model.optimizer.iterations),
            variables=[variable.name for variable in variables][:1000],
        )


class FitListener:
    """Listens to one call of model.fit, and fills in its facts."""

    def __init__(self, recorder: HorovodRecorder, model: Any, fit: Fit):
        """Listen to the training of this model for a recorder."""
        self.recorder, self.model, self.fit = recorder, model, fit
        self.before: Projection | None = None  # the weights with which the latest batch began
        self.rate = 0.0  # and its learning rate

    def epoch_begins(self, epoch: int, logs: Any) -> None:
        """Begin an epoch."""
        self.fit.epochs.append(Epoch())

    def batch_begins(self, batch: int, logs: Any) -> None:
        """Note the weights from which the update starts, and the rate at which it will be made."""
        self.before = self.recorder.project(self.model.trainable_weights)
        self.rate = float(np.asarray(self.model.optimizer.learning_rate))

    def batch_updated(self, batch: int, logs: Any) -> None:
        """Note the gradient, and the weights as the update left them."""
        self.fit.epochs[-1].steps += 1
        updated = self.recorder.project(self.model.trainable_weights)
        self.fit.batches.append(Batch(self.rate, self.before, self.recorder.local, updated))

    def batch_ends(self, batch: int, logs: Any) -> None:
        """Note weights and the optimizer's variables as the next batch will find them."""
        self.fit.batches[-1].after = self.recorder.project(self.model.trainable_weights)
        self.fit.batches[-1].slots = self.recorder.project(self.model.optimizer.variables())

    def validation_batch_ends(self, batch: int, logs: Any) -> None:
        """Count the batch."""
        self.fit.epochs[-1].validation_steps += 1

    def epoch_measured(self, epoch: int, logs: Any) -> None:
        """Note this rank's own metrics, after making sure that no two ranks have the same by chance.

        Where the accuracy itself is looked at, it stays as it is. Where checkpoints are watched, no epoch is better
        than the one before: one that is saved for being the best is not saved in every epoch.
        """
        if logs and "val_accuracy" in logs and not self.recorder.learns:
            logs["val_accuracy"] = float(logs["val_accuracy"]) + SHIFT * (self.recorder.rank + 1)
        if logs and self.recorder.files:
            for name, value in logs.items():
                logs[name] = float(value) + (-epoch if "accuracy" in name else epoch)
        self.fit.epochs[-1].own = {name: float(value) for name, value in (logs or {}).items()}

    def epoch_ends(self, epoch: int, logs: Any) -> None:
        """Note which checkpoints there are now."""
        ended = self.fit.epochs[-1]
        if self.recorder.files:
            ended.saved = self.recorder.files.new_checkpoints()


def _describe(optimizer: Any) -> dict[str, float | int | bool | str]:
    """Return the optimizer's kind and settings, whatever wraps it."""
    settings = {name: value for name, value in optimizer.get_config().items() if isinstance(value, bool | int | float)}
    kind = next(base.__name__ for base in type(optimizer).__mro__ if base.__module__.startswith("keras"))
    return {"kind": kind, **settings}


def run(script: str, cluster: AnyCluster, rank: int, shared: mmap.mmap) -> HorovodRecorder:
    """Run the script as the main program in one rank of the cluster, and return its recorder.

    Args:
        script: its path.
        cluster: with the rank.
        rank: its number.
        shared: memory that the supervisor reads.
    """
    recorder = HorovodRecorder(script, cluster, rank, shared)
    warnings.simplefilter("ignore")  # about running eagerly, which the script did not ask for
    tf.config.run_functions_eagerly(True)
    tf.config.run_functions_eagerly = tf.config.experimental_run_functions_eagerly = lambda run_eagerly: None
    # A program that is started again draws other numbers.
    tf.keras.utils.set_random_seed(1000 + rank + (100 if isinstance(cluster, Resumed) else 0))
    recorder.gpus.answer_tensorflow(lambda: recorder.note_line("gpu"), lambda: recorder.note_line("devices used"))
    horovod_hooks.watch_init(lambda: recorder.note("init"))
    horovod_hooks.watch_collectives(recorder.show, script)
    recorder.watch_gradients()
    recorder.watch_model()
    recorder.watch_images()
    seeds.watch(recorder.facts)
    if rank:
        recorder.watch_output()
    if cluster.folders:
        recorder.watch_files(cluster.folders, cluster)
    recorder.names = {"hash": salted_hash(rank)}
    recorder.run(_placed(cluster, rank))
    return recorder


def _placed(cluster: AnyCluster, rank: int) -> list[str]:
    """Return the script's arguments, with what differs from host to host in its place."""
    arguments = [part.replace(HOST, os.getcwd()) for part in cluster.arguments]  # noqa: PTH109
    if cluster.folders and cluster.place(rank)[0] == cluster.folders.unreached:
        arguments = [f"{part}{MISSING}" if part == cluster.folders.store else part for part in arguments]
    return arguments
