"""Run a training script inside one rank, watch TensorFlow and Horovod, and return the facts.

Used only by grader.ranks, in a process that will run nothing but this one script. Nothing here judges: it notes what
happened. GPUs are simulated: tf.config answers for as many as the topology gives the host. Training runs eagerly,
which saves the tracing of a graph, and lets gradients and weights be read where they are made.
"""

import contextlib
import inspect
import mmap
import sys
import warnings
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf
from keras.src.engine import functional
from tensorflow.keras.callbacks import Callback
from tensorflow.python.data.ops import iterator_ops

from grader.callbacks import First, Last, ReadLogs
from grader.files import Files
from grader.gpus import Gpus
from grader.notes import Notes

LATER_EPOCHS = 29, 30, 60, 80  # before and from each of which on the second part's programs lower their rate

COLLECTIVES = (
    *("allreduce", "grouped_allreduce", "allgather", "grouped_allgather", "broadcast", "broadcast_inplace"),
    *("broadcast_inplace_resource", "alltoall", "reducescatter", "grouped_reducescatter", "join"),
)


class Probe(Notes):
    """Watches one script in one rank; facts is what it saw, ready for JSON."""

    def __init__(self, script: str, gpus: int, rank: int, board: mmap.mmap):
        """Watch this script, on a simulated host with so many GPUs. The board shows the collective it is in."""
        facts = {
            "order": [],  # "init", "use", "model", "fit": each as it first happened
            "gpus": None,  # those that the script can see when it builds its model
            "memory_growth": [],
            "fits": [],
            "evaluations": [],  # the verbose of each
            "lines": {},  # what -> the line of the script that called it
            "files": None,  # where they are watched: see grader.files
            "error": None,
        }
        super().__init__(script, rank, board, facts)
        self.gpus = Gpus(gpus)
        self.files = None
        self.local = None  # projections of the gradients that this rank last computed
        self.begun = {}  # the weights and the rate with which the last batch began
        self.built, self.weighted = WeakKeyDictionary(), WeakKeyDictionary()  # by model: first weights; its losses'

    # --- Horovod -----------------------------------------------------------------------------------------------------

    def watch_horovod(self) -> None:
        """Note when Horovod is initialised and first used."""
        import horovod.tensorflow as hvd
        import horovod.tensorflow.keras as hvd_keras

        def noted(event, function):
            def call(*args, **kwargs):
                result = function(*args, **kwargs)
                self.note(event)
                return result

            return call

        def shown(kind, collective):
            def call(*args, **kwargs):
                shape = getattr(args[0], "shape", "") if args else ""
                self.show(f"{kind} “{kwargs['name']}”" if kwargs.get("name") else f"{kind} of a tensor {shape}")
                try:
                    return collective(*args, **kwargs)
                finally:
                    self.show("")

            return call

        library = hvd.mpi_ops.MPI_LIB
        for kind in COLLECTIVES:
            setattr(library, f"horovod_{kind}", shown(kind, getattr(library, f"horovod_{kind}")))
        for module in (hvd, hvd_keras):
            module.init = noted("init", module.init)
            for name in ("rank", "size", "local_rank", "local_size"):
                setattr(module, name, noted("use", getattr(module, name)))

    def keep_iterators(self) -> None:
        """Keep every data iterator until the process ends: taking one over a generator down waits for seconds."""
        begin = iterator_ops.OwnedIterator.__init__
        self.iterators = []

        def kept(iterator, *args, **kwargs):
            self.iterators.append(iterator)
            begin(iterator, *args, **kwargs)

        iterator_ops.OwnedIterator.__init__ = kept

    def watch_images(self, digits: int) -> None:
        """Note which images go into each step, by their mean colours: grader.tiny makes no two alike."""

        def noted(step, name):
            def call(model, data):
                if self.facts["fits"] and self.facts["fits"][-1]["epochs"] and len(np.shape(data[0])) == 4:
                    colours = np.asarray(data[0]).mean(axis=(1, 2))
                    told = ["/".join(f"{part:.{digits}f}" for part in colour) for colour in colours]
                    self.facts["fits"][-1]["epochs"][-1][name] += told
                return step(model, data)

            return call

        model = tf.keras.Model
        model.train_step = noted(model.train_step, "images")
        model.test_step = noted(model.test_step, "validation_images")

    def watch_output(self) -> None:
        """Note the line that prints first."""
        write = sys.stdout.write

        def noted(text):
            self.note_line("print")
            return write(text)

        sys.stdout.write = noted

    # --- training ----------------------------------------------------------------------------------------------------

    def watch_gradients(self) -> None:
        """Note the gradients that this rank computes by itself, before anybody averages them."""
        gradient = tf.GradientTape.gradient

        def watched(tape, target, sources, *args, **kwargs):
            result = gradient(tape, target, sources, *args, **kwargs)
            self.local = self.project(tf.nest.flatten(result))
            return result

        tf.GradientTape.gradient = watched

    def watch_model(self) -> None:
        """Note when a model is built, how it is compiled, trained and evaluated."""
        model = tf.keras.Model
        build, compile_, fit, evaluate = model.__init__, model.compile, model.fit, model.evaluate
        wire = functional.Functional._init_graph_network
        signatures = {function: inspect.signature(function) for function in (compile_, fit, evaluate)}

        def watched_build(this, *args, **kwargs):
            self.facts["gpus"], self.facts["memory_growth"] = self.gpus.settle()
            self.note("model")
            build(this, *args, **kwargs)

        def watched_wire(this, *args, **kwargs):
            wire(this, *args, **kwargs)
            self.built[this] = self.project(this.trainable_weights)

        def watched_compile(this, *args, **kwargs):
            self.note_line("compile")
            self.built.setdefault(this, self.project(this.trainable_weights))
            weights = signatures[compile_].bind(this, *args, **kwargs).arguments.get("loss_weights")
            self.weighted[this] = [float(weight) for weight in tf.nest.flatten(weights) if weight is not None]
            compile_(this, *args, **kwargs)

        def watched_fit(this, *args, **kwargs):
            self.note("fit")
            if this not in self.weighted:
                return fit(this, *args, **kwargs)  # it was never compiled, and Keras says so
            call = signatures[fit].bind(this, *args, **kwargs)
            call.apply_defaults()
            given = call.arguments["callbacks"]
            if self.files:
                self.files.training = True
            own = list(given.callbacks if isinstance(given, tf.keras.callbacks.CallbackList) else given or [])
            record = {
                "verbose": call.arguments["verbose"],
                "optimizer": _describe(this.optimizer),
                "callbacks": [type(callback).__name__ for callback in own],
                "loss_weights": self.weighted[this],
                "steps_per_epoch": _number(call.arguments["steps_per_epoch"]),
                "log_dirs": [str(log.log_dir) for log in own if isinstance(log, tf.keras.callbacks.TensorBoard)],
                "weights_built": self.built[this],
                "batches": [],
                "epochs": [],
                "reads": [],  # [epoch, callback, metric, value]
                "initial_epoch": call.arguments["initial_epoch"],
                "begin": self.state(this),
                "end": None,
                "schedule": {},  # epoch -> rate, as a scheduler would set it
            }
            self.facts["fits"].append(record)
            for callback in own:
                self._watch_reads(callback, record)
            call.arguments["callbacks"] = [First(self, record), *own, Last(self, record)]
            try:
                return fit(*call.args, **call.kwargs)
            finally:
                record["end"] = self.state(this)
                record["schedule"] = _schedule(own)

        def watched_evaluate(this, *args, **kwargs):
            call = signatures[evaluate].bind(this, *args, **kwargs)
            call.apply_defaults()
            if not call.arguments["kwargs"].get("_use_cached_eval_dataset"):  # not fit()'s own validation
                self.note_line("evaluate")
                self.facts["evaluations"].append(call.arguments["verbose"])
            return evaluate(this, *args, **kwargs)

        functional.Functional._init_graph_network = watched_wire
        model.__init__, model.compile = watched_build, watched_compile
        model.fit, model.evaluate = watched_fit, watched_evaluate

    def state(self, model) -> dict:
        """Return what a checkpoint has to bring back: trainable weights, the optimizer's slots and its iterations."""
        slots = [variable for variable in model.optimizer.variables() if variable.shape.rank]
        iterations = int(model.optimizer.iterations)
        return {
            "weights": self.project(model.trainable_weights),
            "slots": self.project(slots),
            "iterations": iterations,
            "variables": [variable.name for variable in model.optimizer.variables()][:1000],
        }

    @staticmethod
    def _watch_reads(callback: Callback, record: dict) -> None:
        """Note each metric that a callback reads at the end of an epoch, and the value it finds."""
        end = callback.on_epoch_end

        def watched(epoch, logs=None):
            seen = ReadLogs(logs or {}, whole=type(callback).__module__.startswith("keras."))
            end(epoch, seen)
            record["reads"] += [
                [epoch, type(callback).__name__, name, float(value)]
                for name, value in seen.last_read.items()
                if dict.get(seen, name) is value  # who replaces a metric averages it, and does not act on it
            ]
            if logs is not None:
                logs.update(seen)

        callback.on_epoch_end = watched


def _schedule(callbacks: list[Callback]) -> dict[str, float]:
    """Return what the schedulers among the callbacks would set the rate to in later epochs."""
    rates = {}
    for callback in callbacks:
        if isinstance(callback, tf.keras.callbacks.LearningRateScheduler):
            takes = len(inspect.signature(callback.schedule).parameters)
            with contextlib.suppress(Exception):  # it is the script's own function
                for epoch in LATER_EPOCHS:
                    rates[str(epoch)] = float(callback.schedule(epoch, 1.0) if takes > 1 else callback.schedule(epoch))
    return rates


def _number(steps) -> int | None:
    """Return how many steps an epoch was to have, where the script says so."""
    return None if steps is None else int(steps)


def _describe(optimizer) -> dict:
    """Return the optimizer's kind and settings, whatever wraps it."""
    settings = {name: value for name, value in optimizer.get_config().items() if isinstance(value, bool | int | float)}
    kind = next(base.__name__ for base in type(optimizer).__mro__ if base.__module__.startswith("keras"))
    return {"kind": kind, **settings}


def run(script: str, arguments: list[str], gpus: int, rank: int, board: mmap.mmap) -> dict:
    """Run the script as the main program and return what it did; see Notes.run."""
    probe = Probe(script, gpus, rank, board)
    warnings.simplefilter("ignore")  # about running eagerly, which the script did not ask for
    tf.config.run_functions_eagerly(True)
    tf.keras.utils.set_random_seed(1000 + rank)
    probe.gpus.answer_tensorflow(lambda: probe.note_line("gpu"))
    probe.watch_horovod()
    probe.watch_gradients()
    probe.watch_model()
    probe.keep_iterators()
    probe.watch_images(digits=2 if "--data-url" in arguments else 4)
    if rank:
        probe.watch_output()
    if "--data-url" in arguments:
        probe.files = Files(arguments)
        probe.files.watch()
    probe.run(arguments)
    if probe.files:
        probe.facts["files"] = probe.files.facts()
    return probe.facts
