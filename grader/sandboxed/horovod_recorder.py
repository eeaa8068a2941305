"""Run a training script inside one rank of Horovod, watch TensorFlow and Horovod, and return the facts.

Runs in a process that will run nothing but this one script. Nothing here judges: it notes what happened. GPUs are
simulated: tf.config answers for as many as the topology gives the host. Training runs eagerly, which saves the tracing
of a graph, and lets gradients and weights be read where they are made.
"""

import contextlib
import inspect
import mmap
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf
from keras.src.engine import functional
from tensorflow.keras.callbacks import Callback
from tensorflow.python.data.ops import iterator_ops

from course.internal.keras_fit import FitCall, wrap_fit
from grader.facts import Fit, HorovodFacts, Projection, State
from grader.job import Folders, Topology
from grader.sandboxed.callbacks import First, Last, ReadLogs
from grader.sandboxed.files import WatchedFiles
from grader.sandboxed.gpus import Gpus
from grader.sandboxed.recorder import Recorder, plain

LATER_EPOCHS = 29, 30, 60, 80  # before and from each of which on the second part's programs lower their rate

COLLECTIVES = (
    *("allreduce", "grouped_allreduce", "allgather", "grouped_allgather", "broadcast", "broadcast_inplace"),
    *("broadcast_inplace_resource", "alltoall", "reducescatter", "grouped_reducescatter", "join"),
)


class HorovodRecorder(Recorder[HorovodFacts]):
    """Records one script in one rank."""

    def __init__(self, script: str, gpus: int, rank: int, board: mmap.mmap):
        """Record this script, on a simulated host with so many GPUs. The board shows the collective it is in."""
        super().__init__(script, rank, board, HorovodFacts())
        self.gpus = Gpus(gpus)
        self.files: WatchedFiles | None = None
        self.local: Projection | None = None  # the gradients that this rank computed last
        self.before: Projection | None = None  # the weights with which the last batch began
        self.rate = 0.0  # and its learning rate
        self.built: WeakKeyDictionary[Any, Projection] = WeakKeyDictionary()  # by model: its first weights
        self.weighted: WeakKeyDictionary[Any, list[float]] = WeakKeyDictionary()  # by model: its losses' weights

    # --- Horovod -----------------------------------------------------------------------------------------------------

    def watch_horovod(self) -> None:
        """Note when Horovod is initialised, and show the collective that the rank is in."""
        import horovod.tensorflow as hvd
        import horovod.tensorflow.keras as hvd_keras

        library = hvd.mpi_ops.MPI_LIB
        for kind in COLLECTIVES:
            setattr(library, f"horovod_{kind}", self._shown(kind, getattr(library, f"horovod_{kind}")))
        for module in (hvd, hvd_keras):
            module.init = self._noted("init", module.init)

    def _noted(self, event: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            self.note(event)
            return result

        return call

    def _shown(self, kind: str, collective: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            shape = getattr(args[0], "shape", "") if args else ""
            self.show(f"{kind} “{kwargs['name']}”" if kwargs.get("name") else f"{kind} of a tensor {shape}")
            try:
                return collective(*args, **kwargs)
            finally:
                self.show("")

        return call

    # --- input and output --------------------------------------------------------------------------------------------

    def keep_iterators(self) -> None:
        """Keep every data iterator until the process ends: taking one over a generator down waits for seconds."""
        begin = iterator_ops.OwnedIterator.__init__
        self.iterators: list[Any] = []

        def kept(iterator: Any, *args: Any, **kwargs: Any) -> None:
            self.iterators.append(iterator)
            begin(iterator, *args, **kwargs)

        iterator_ops.OwnedIterator.__init__ = kept

    def watch_images(self, digits: int) -> None:
        """Note which images go into each step, by their mean colours: no two of the judge's images are alike."""

        def noted(step: Callable[..., Any], validates: bool) -> Callable[..., Any]:
            def call(model: Any, data: Any) -> Any:
                if self.facts.fits and self.facts.fits[-1].epochs and len(np.shape(data[0])) == 4:
                    colours = np.asarray(data[0]).mean(axis=(1, 2))
                    epoch = self.facts.fits[-1].epochs[-1]
                    images = epoch.validation_images if validates else epoch.images
                    images += ["/".join(f"{part:.{digits}f}" for part in colour) for colour in colours]
                return step(model, data)

            return call

        model = tf.keras.Model
        model.train_step = noted(model.train_step, validates=False)
        model.test_step = noted(model.test_step, validates=True)

    def watch_files(self, folders: Folders) -> None:
        """Note which files the script opens in these folders."""
        self.files = WatchedFiles(folders)
        self.files.watch()

    def watch_output(self) -> None:
        """Note the line that prints first."""
        write = sys.stdout.write

        def noted(text: str) -> int:
            self.note_line("print")
            return write(text)

        sys.stdout.write = noted  # type: ignore[method-assign]

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
            self.built[this] = self.project(this.trainable_weights)

        def watched_compile(this: Any, *args: Any, **kwargs: Any) -> None:
            self.built.setdefault(this, self.project(this.trainable_weights))
            weights = signature.bind(this, *args, **kwargs).arguments.get("loss_weights")
            self.weighted[this] = [float(weight) for weight in tf.nest.flatten(weights) if weight is not None]
            compile_(this, *args, **kwargs)

        functional.Functional._init_graph_network = watched_wire
        model.__init__, model.compile = watched_build, watched_compile
        wrap_fit(self.record_fit)

    @contextlib.contextmanager
    def record_fit(self, call: FitCall) -> Iterator[None]:
        """Record one call of model.fit."""
        self.note("fit")
        if call.model not in self.weighted:  # it was never compiled, and Keras says so
            yield
            return
        if self.files:
            self.files.training = True
        steps = call.arguments["steps_per_epoch"]
        fit = Fit(
            verbose=plain(call.arguments["verbose"]),
            optimizer=_describe(call.model.optimizer),
            callbacks=[type(callback).__name__ for callback in call.callbacks],
            loss_weights=self.weighted[call.model],
            steps_per_epoch=None if steps is None else int(steps),
            log_dirs=[str(log.log_dir) for log in call.callbacks if isinstance(log, tf.keras.callbacks.TensorBoard)],
            weights_built=self.built[call.model],
            initial_epoch=plain(call.arguments["initial_epoch"]),
            begin=self.state(call.model),
        )
        self.facts.fits.append(fit)
        for callback in call.callbacks:
            _watch_reads(callback, fit)
        call.before, call.behind = [First(self, fit)], [Last(self, fit)]
        try:
            yield
        finally:
            fit.end = self.state(call.model)
            fit.schedule = _schedule(call.callbacks)

    def state(self, model: Any) -> State:
        """Return what a checkpoint has to restore: trainable weights, the optimizer's slots and its iterations."""
        variables = model.optimizer.variables()
        return State(
            weights=self.project(model.trainable_weights),
            slots=self.project([variable for variable in variables if variable.shape.rank]),
            iterations=int(model.optimizer.iterations),
            variables=[variable.name for variable in variables][:1000],
        )


def _watch_reads(callback: Callback, fit: Fit) -> None:
    """Note each metric that a callback reads at the end of an epoch, and the value it finds."""
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


def _schedule(callbacks: list[Callback]) -> dict[str, float]:
    """Return what the schedulers among the callbacks would set the rate to in later epochs."""
    rates: dict[str, float] = {}
    for callback in callbacks:
        if isinstance(callback, tf.keras.callbacks.LearningRateScheduler):
            takes = len(inspect.signature(callback.schedule).parameters)
            with contextlib.suppress(Exception):  # it is the script's own function
                for epoch in LATER_EPOCHS:
                    rates[str(epoch)] = float(callback.schedule(*(epoch, 1.0)[: min(takes, 2)]))
    return rates


def _describe(optimizer: Any) -> dict[str, float | int | bool | str]:
    """Return the optimizer's kind and settings, whatever wraps it."""
    settings = {name: value for name, value in optimizer.get_config().items() if isinstance(value, bool | int | float)}
    kind = next(base.__name__ for base in type(optimizer).__mro__ if base.__module__.startswith("keras"))
    return {"kind": kind, **settings}


def run(script: str, topology: Topology, rank: int, board: mmap.mmap) -> HorovodRecorder:
    """Run the script as the main program in one rank of the topology, and return its recorder."""
    recorder = HorovodRecorder(script, topology.gpus, rank, board)
    warnings.simplefilter("ignore")  # about running eagerly, which the script did not ask for
    tf.config.run_functions_eagerly(True)
    tf.keras.utils.set_random_seed(1000 + rank)
    recorder.gpus.answer_tensorflow(lambda: recorder.note_line("gpu"))
    recorder.watch_horovod()
    recorder.watch_gradients()
    recorder.watch_model()
    recorder.keep_iterators()
    recorder.watch_images(topology.digits)
    if rank:
        recorder.watch_output()
    if topology.folders:
        recorder.watch_files(topology.folders)
    recorder.run(topology.arguments)
    if recorder.files:
        recorder.facts.files = recorder.files.facts()
    return recorder
