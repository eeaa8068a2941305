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
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf
from keras.src.engine import functional
from tensorflow.keras.callbacks import Callback

from course.internal.keras_fit import FitCall, wrap_fit
from course.internal.simulated_gpus import Gpus
from grader.sandboxed import collectives, model_facts, seeds, steps
from grader.sandboxed.callbacks import First, Last, ReadLogs
from grader.sandboxed.files import WatchedFiles
from grader.sandboxed.recorder import Recorder, plain, salted_hash
from grader.terms.clusters import HOST, MISSING, RANK, AnyCluster, Folders, Resumed
from grader.terms.facts import Fit, HorovodFacts, Projection, State

APART = 0.05  # relative: by so much weights of new models differ between ranks at least
LAST_EPOCH = 90  # of the schedule of the second part's programs


class HorovodRecorder(Recorder[HorovodFacts]):
    """Records one script in one rank."""

    def __init__(self, script: str, gpus: int, rank: int, board: mmap.mmap, learns: bool = False):
        """Record this script, on a simulated host with so many GPUs. The board shows the collective it is in.

        learns says whether what is looked at is the accuracy that training reaches: see set_apart().
        """
        super().__init__(script, rank, board, HorovodFacts())
        self.learns = learns
        self.gpus = Gpus(gpus)
        self.files: WatchedFiles | None = None
        self.local: Projection | None = None  # the gradients that this rank computed last
        self.before: Projection | None = None  # the weights with which the last batch began
        self.rate = 0.0  # and its learning rate
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

        steps.watch(note)

    def watch_files(self, folders: Folders, cluster: AnyCluster) -> None:
        """Note which files the script opens in these folders; a host's first rank puts there what it is to find."""
        self.files = WatchedFiles(folders)
        host, local_rank = cluster.place(self.rank)
        if isinstance(cluster, Resumed) and cluster.found and not local_rank:
            self.files.find(host, cluster.found)
        self.files.watch()

    def watch_output(self) -> None:
        """Note the line that prints first."""

        def noted(write: Callable[[str], int]) -> Callable[[str], int]:
            def call(text: str) -> int:
                self.note_line("print")
                return write(text)

            return call

        for stream in (sys.stdout, sys.stderr):
            stream.write = noted(stream.write)  # type: ignore[method-assign]

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
        model = tf.keras.Model
        build, compile_ = model.__init__, model.compile
        wire = functional.Functional._init_graph_network
        signature = inspect.signature(compile_)

        def watched_build(this: Any, *args: Any, **kwargs: Any) -> None:
            self.facts.gpus, self.facts.memory_growth = self.gpus.settle()
            self.note("model")
            build(this, *args, **kwargs)

        def watched_wire(this: Any, *args: Any, **kwargs: Any) -> None:
            wire(this, *args, **kwargs)
            self.set_apart(this.trainable_weights)
            self.built[this] = self.project(this.trainable_weights)

        def watched_compile(this: Any, *args: Any, **kwargs: Any) -> None:
            self.built.setdefault(this, self.project(this.trainable_weights))
            given = signature.bind(this, *args, **kwargs)
            weights = given.arguments.get("loss_weights")
            self.weighted[this] = [float(weight) for weight in tf.nest.flatten(weights) if weight is not None]
            # Gradients and weights are read in steps that run eagerly, whatever the script would have.
            given.arguments.update(run_eagerly=None, jit_compile=None)
            compile_(*given.args, **given.kwargs)

        functional.Functional._init_graph_network = watched_wire
        model.__init__, model.compile = watched_build, watched_compile
        wrap_fit(self.record_fit)

    def set_apart(self, weights: list[Any]) -> None:
        """Change the weights of a new model a little, on each rank but 0 in its own way.

        Ranks that draw from one seed would begin alike, and whether they take rank 0's weights could not be seen.
        Where the accuracy is looked at, all matrices are drawn anew: it depends on the weights that training begins
        with more than on anything else, so rank 0's are the same in each script's run, whatever it has drawn before.
        """
        random = np.random.default_rng(self.rank)
        if self.learns:
            model_facts.draw_weights(weights, random)
        for weight in weights if self.rank else ():
            weight.assign(weight * (1 + APART * random.standard_normal(weight.shape)))

    @contextlib.contextmanager
    def record_fit(self, call: FitCall) -> Iterator[None]:
        """Record one call of model.fit."""
        self.note("fit")
        if call.model not in self.weighted:  # it was never compiled, and Keras says so
            yield
            return
        steps = call.arguments["steps_per_epoch"]
        fit = Fit(
            verbose=plain(call.arguments["verbose"]),
            optimizer=_describe(call.model.optimizer),
            callbacks=[type(callback).__name__ for callback in call.callbacks],
            loss_weights=self.weighted[call.model],
            values=sum(int(weight.shape.num_elements()) for weight in call.model.trainable_weights),
            loss=_loss_of_answers(call.model),
            steps_per_epoch=None if steps is None else int(steps),
            log_dirs=[str(log.log_dir) for log in call.callbacks if isinstance(log, tf.keras.callbacks.TensorBoard)],
            weights_built=self.built[call.model],
            initial_epoch=int(call.arguments["initial_epoch"]),
            begin=self.state(call.model),
            generator=seeds.state(),
        )
        self.facts.fits.append(fit)
        if self.files:
            self.files.train(fit)
        for callback in call.callbacks:
            _watch_reads(callback, fit)
        call.before, call.behind = [First(self, fit)], [Last(self, fit)]
        try:
            yield
            self.note("trained")
        finally:
            fit.end = self.state(call.model)
        if self.files:
            fit.schedule = _later_rates(call, fit.epochs[-1].steps if fit.epochs else 0)

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


def _loss_of_answers(model: Any) -> float | None:
    """Return the loss that a model was compiled with, of made-up answers to an image of each class."""
    if model.loss is None:
        return None
    classes = model.output_shape[-1]
    answers = tf.nn.softmax(np.random.default_rng(0).standard_normal((classes, classes)).astype("float32"))
    try:
        for right in np.arange(classes)[:, None], np.eye(classes):  # as numbers, or one-hot
            with contextlib.suppress(Exception):  # it is for the other form, or the script's own
                return float(model.compiled_loss(tf.constant(right, tf.float32), answers))
        return None
    finally:
        model.compiled_loss.reset_state()


def _watch_reads(callback: Callback, fit: Fit) -> None:
    """Note each metric that a callback reads at the end of an epoch, and the value it finds."""
    end = callback.on_epoch_end

    def watched(epoch: int, logs: Any = None) -> None:
        seen = ReadLogs(logs or {}, whole=type(callback).__module__.startswith("keras."))
        end(epoch, seen)
        for name, value in seen._judged_last_read.items():
            left: Any = dict.get(seen, name)
            if left is value:  # a callback that replaces a metric averages it, and does not act on it
                fit.reads.append((epoch, type(callback).__name__, name, float(value)))
        if logs is not None:
            logs.update(seen)

    callback.on_epoch_end = watched


def _later_rates(call: FitCall, steps: int) -> dict[str, float]:
    """Return the learning rates of later epochs: let the callbacks that may set it begin each of them."""
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


def _describe(optimizer: Any) -> dict[str, float | int | bool | str]:
    """Return the optimizer's kind and settings, whatever wraps it."""
    settings = {name: value for name, value in optimizer.get_config().items() if isinstance(value, bool | int | float)}
    kind = next(base.__name__ for base in type(optimizer).__mro__ if base.__module__.startswith("keras"))
    return {"kind": kind, **settings}


def run(script: str, cluster: AnyCluster, rank: int, board: mmap.mmap) -> HorovodRecorder:
    """Run the script as the main program in one rank of the cluster, and return its recorder.

    Args:
        script: its path.
        cluster: with the rank.
        rank: its number.
        board: memory shared with the supervisor.
    """
    recorder = HorovodRecorder(script, cluster.gpus, rank, board, cluster.learns)
    warnings.simplefilter("ignore")  # about running eagerly, which the script did not ask for
    tf.config.run_functions_eagerly(True)
    tf.config.run_functions_eagerly = tf.config.experimental_run_functions_eagerly = lambda run_eagerly: None
    # A program that is started again draws other numbers.
    tf.keras.utils.set_random_seed(1000 + rank + (100 if isinstance(cluster, Resumed) else 0))
    recorder.gpus.answer_tensorflow(lambda: recorder.note_line("gpu"))
    collectives.watch(recorder)
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
    """Return the script's arguments, with what differs from rank to rank or from host to host in its place."""
    arguments = [part.replace(RANK, str(rank)).replace(HOST, os.getcwd()) for part in cluster.arguments]  # noqa: PTH109
    if cluster.folders and cluster.place(rank)[0] == cluster.folders.unreached:
        arguments = [f"{part}{MISSING}" if part == cluster.folders.store else part for part in arguments]
    return arguments
