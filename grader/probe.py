"""Run a training script inside one rank, watch TensorFlow and Horovod, and return the facts.

Imported only by grader.warm, in a process that will run nothing but this one script. Nothing here judges: it notes
what happened. GPUs are simulated: tf.config answers for as many as the topology gives the host. Training runs eagerly,
which saves the tracing of a graph, and lets gradients and weights be read where they are made.

Tensors are compared between ranks by their projections: dot products with a few fixed random directions. They are linear,
so the projection of a mean is the mean of the projections.
"""

import inspect
import os
import runpy
import sys
import traceback
import warnings
from types import SimpleNamespace

import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback

DIRECTIONS = 4


class Probe:
    """Watches one script in one rank; facts is what it saw, ready for JSON."""

    def __init__(self, script: str, gpus: int, rank: int):
        """Watch this script, on a simulated host with so many GPUs."""
        self.script, self.rank = script, rank
        self.facts = {
            "order": [],  # "init", "use", "model", "fit": each as it first happened
            "gpus": None,  # those that the script can see when it builds its model
            "memory_growth": [],
            "fits": [],
            "evaluations": [],  # the verbose of each
            "lines": {},  # what -> the line of the script that called it
            "error": None,
        }
        self.gpus = [SimpleNamespace(name=f"/physical_device:GPU:{number}", device_type="GPU") for number in range(gpus)]
        self.chosen = None
        self.growth = set()
        self.local = None  # projections of the gradients that this rank last computed
        self.rng = {}

    # --- what is noted -------------------------------------------------------------------------------------------------

    def note(self, event: str) -> None:
        """Note that something happened for the first time, and on which line of the script."""
        if event not in self.facts["order"]:
            self.facts["order"].append(event)
            self.note_line(event)

    def note_line(self, what: str) -> None:
        """Note the innermost line of the script that is being executed."""
        frame = inspect.currentframe()
        while frame and frame.f_code.co_filename != self.script:
            frame = frame.f_back
        if frame:
            self.facts["lines"].setdefault(what, frame.f_lineno)

    def project(self, tensors) -> list[float]:
        """Return the dot products of all tensors, as one long vector, with each direction."""
        total = np.zeros(DIRECTIONS)
        for position, tensor in enumerate(tensors):
            if tensor is None:
                continue
            flat = np.asarray(tensor, dtype=np.float64).ravel()
            key = (position, flat.size)
            if key not in self.rng:
                self.rng[key] = np.random.default_rng(key).standard_normal((DIRECTIONS, flat.size))
            total += self.rng[key] @ flat
        return total.tolist()

    # --- simulated GPUs ------------------------------------------------------------------------------------------------

    def visible(self) -> list:
        """Return the GPUs that the script can see: those of CUDA_VISIBLE_DEVICES, then those it chose."""
        if "CUDA_VISIBLE_DEVICES" not in self.__dict__:
            listed = os.environ.get("CUDA_VISIBLE_DEVICES")
            names = None if listed is None else [part.strip() for part in listed.split(",")]
            self.CUDA_VISIBLE_DEVICES = [
                gpu for number, gpu in enumerate(self.gpus) if names is None or str(number) in names
            ]
        return self.CUDA_VISIBLE_DEVICES if self.chosen is None else self.chosen

    def simulate_gpus(self) -> None:
        """Answer TensorFlow's questions about GPUs, under both names that the API has."""
        real = {name: getattr(tf.config, name) for name in ("list_physical_devices", "get_visible_devices")}
        real_set = tf.config.set_visible_devices
        real_growth = tf.config.experimental.set_memory_growth

        def list_physical_devices(device_type=None):
            self.visible()  # CUDA_VISIBLE_DEVICES counts as it is at the first question
            cpus = [] if device_type == "GPU" else real["list_physical_devices"]("CPU")
            return cpus + (self.CUDA_VISIBLE_DEVICES if device_type in (None, "GPU") else [])

        def get_visible_devices(device_type=None):
            cpus = [] if device_type == "GPU" else real["get_visible_devices"]("CPU")
            return cpus + (list(self.visible()) if device_type in (None, "GPU") else [])

        def set_visible_devices(devices, device_type=None):
            devices = list(devices) if isinstance(devices, list | tuple) else [devices]
            if "model" in self.facts["order"]:
                raise RuntimeError("Visible devices cannot be modified after being initialized")
            gpus = [device for device in devices if device.device_type == "GPU"]
            if any(gpu not in self.gpus for gpu in gpus):
                raise ValueError(f"Unrecognized device: {devices}")
            if device_type in (None, "GPU"):
                self.visible()
                self.chosen = gpus
                self.note_line("gpu")
            if device_type != "GPU":
                real_set([device for device in devices if device.device_type != "GPU"], "CPU")

        def set_memory_growth(device, enable):
            if device in self.gpus:
                (self.growth.add if enable else self.growth.discard)(device.name)
            else:
                real_growth(device, enable)

        def get_memory_growth(device):
            return device.name in self.growth

        for module in (tf.config, tf.config.experimental):
            for function in (list_physical_devices, get_visible_devices, set_visible_devices):
                setattr(module, function.__name__, function)
        tf.config.experimental.set_memory_growth = set_memory_growth
        tf.config.experimental.get_memory_growth = get_memory_growth

    # --- Horovod -------------------------------------------------------------------------------------------------------

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

        for module in (hvd, hvd_keras):
            module.init = noted("init", module.init)
            for name in ("rank", "size", "local_rank", "local_size"):
                setattr(module, name, noted("use", getattr(module, name)))

    # --- training ------------------------------------------------------------------------------------------------------

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
        signatures = {function: inspect.signature(function) for function in (fit, evaluate)}

        def watched_build(this, *args, **kwargs):
            self.facts["gpus"] = [int(gpu.name.rsplit(":", 1)[1]) for gpu in self.visible()]
            self.facts["memory_growth"] = sorted(int(name.rsplit(":", 1)[1]) for name in self.growth)
            self.note("model")
            build(this, *args, **kwargs)

        def watched_compile(this, *args, **kwargs):
            self.note_line("compile")
            self.built = self.project(this.trainable_weights)
            compile_(this, *args, **kwargs)

        def watched_fit(this, *args, **kwargs):
            self.note("fit")
            call = signatures[fit].bind(this, *args, **kwargs)
            call.apply_defaults()
            given = call.arguments["callbacks"]
            own = list(given.callbacks if isinstance(given, tf.keras.callbacks.CallbackList) else given or [])
            record = {
                "verbose": call.arguments["verbose"],
                "optimizer": _describe(this.optimizer),
                "callbacks": [type(callback).__name__ for callback in own],
                "weights_built": self.built,
                "batches": [],
                "epochs": [],
                "reads": [],  # [epoch, callback, metric, value]
            }
            self.facts["fits"].append(record)
            for callback in own:
                self._watch_reads(callback, record)
            call.arguments["callbacks"] = [First(self, record), *own, Last(self, record)]
            return fit(*call.args, **call.kwargs)

        def watched_evaluate(this, *args, **kwargs):
            call = signatures[evaluate].bind(this, *args, **kwargs)
            call.apply_defaults()
            if not call.arguments["kwargs"].get("_use_cached_eval_dataset"):  # not fit()'s own validation
                self.note_line("evaluate")
                self.facts["evaluations"].append(call.arguments["verbose"])
            return evaluate(this, *args, **kwargs)

        model.__init__, model.compile, model.fit, model.evaluate = (
            watched_build,
            watched_compile,
            watched_fit,
            watched_evaluate,
        )

    @staticmethod
    def _watch_reads(callback: Callback, record: dict) -> None:
        """Note each metric that a callback reads at the end of an epoch, and the value it finds."""
        end = callback.on_epoch_end

        def watched(epoch, logs=None):
            seen = ReadLogs(logs or {})
            end(epoch, seen)
            record["reads"] += [
                [epoch, type(callback).__name__, name, float(value)] for name, value in seen.first_read.items()
            ]
            if logs is not None:
                logs.update(seen)

        callback.on_epoch_end = watched


class ReadLogs(dict):
    """Keras' logs, noting what is read by name before it is written."""

    def __init__(self, logs):
        """Hold what logs holds."""
        super().__init__(logs)
        self.first_read = {}

    def __getitem__(self, name):
        """Return the metric, and note it."""
        value = super().__getitem__(name)
        self.first_read.setdefault(name, value)
        return value

    def get(self, name, default=None):
        """Return the metric or the default, and note it."""
        return self[name] if name in self else default


class First(Callback):
    """Stands before a script's own callbacks: sees what training did before any of them acts."""

    def __init__(self, probe: Probe, record: dict):
        """Write into this record of a fit."""
        super().__init__()
        self.probe, self.record = probe, record

    def on_epoch_begin(self, epoch, logs=None):
        """Begin an epoch."""
        self.record["epochs"].append({"steps": 0, "validation_steps": 0, "own": {}})

    def on_train_batch_end(self, batch, logs=None):
        """Note the gradient, and the weights as the update left them."""
        self.record["epochs"][-1]["steps"] += 1
        self.record["batches"].append(
            {"local": self.probe.local, "updated": self.probe.project(self.model.trainable_weights)}
        )

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

    def __init__(self, probe: Probe, record: dict):
        """Write into this record of a fit."""
        super().__init__()
        self.probe, self.record = probe, record

    def on_train_batch_begin(self, batch, logs=None):
        """Note the weights from which the update starts, and the rate at which it will be made."""
        self.before = self.probe.project(self.model.trainable_weights)
        self.rate = float(np.asarray(self.model.optimizer.learning_rate))

    def on_train_batch_end(self, batch, logs=None):
        """Note weights and the optimizer's variables as the next batch will find them."""
        self.record["batches"][-1] |= {
            "before": self.before,
            "rate": self.rate,
            "after": self.probe.project(self.model.trainable_weights),
            "slots": self.probe.project(self.model.optimizer.variables()),
        }


def _describe(optimizer) -> dict:
    """Return the optimizer's kind and settings, whatever wraps it."""
    settings = {name: value for name, value in optimizer.get_config().items() if isinstance(value, bool | int | float)}
    return {"kind": type(optimizer).__name__, **settings}


def run(script: str, arguments: list[str], gpus: int, rank: int) -> dict:
    """Run the script as the main program and return what it did.

    Raises nothing of the script's: an exception is a fact, {"kind", "message", "line", "traceback"}, its traceback
    without frames of ours.
    """
    probe = Probe(script, gpus, rank)
    warnings.simplefilter("ignore")  # about running eagerly, which the script did not ask for
    tf.config.run_functions_eagerly(True)
    tf.keras.utils.set_random_seed(1000 + rank)
    probe.simulate_gpus()
    probe.watch_horovod()
    probe.watch_gradients()
    probe.watch_model()
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(script)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        if stop.code not in (None, 0):
            probe.facts["error"] = _error(stop, script)
    except BaseException as error:  # KeyboardInterrupt too: whatever the script raises is a fact
        probe.facts["error"] = _error(error, script)
    return probe.facts


def _error(error: BaseException, script: str) -> dict:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == script]
    lines = traceback.format_list(own) + traceback.format_exception_only(error)
    line = error.lineno if isinstance(error, SyntaxError) else own[-1].lineno if own else None
    return {"kind": type(error).__name__, "message": str(error)[:2000], "line": line, "traceback": "".join(lines)[-8000:]}
