"""Correct scripts of the first part that use more of Python's, TensorFlow's and Horovod's libraries. Each one passes.

Versions, plots, progress bars, trackers that are not installed, memory, and objects that rank 0 sends to all ranks.
"""

from tests.corpus.horovod_passages import (
    ARGS,
    AVERAGE,
    COMPILE,
    IMPORT,
    IMPORT_BOTH,
    INIT,
    KEEP_HISTORY,
    LIST_OF_CALLBACKS,
    RESULTS,
    TENSORBOARD,
    VERBOSE,
    callback_class,
    own_callback,
)
from tests.corpus.variant import after, importing, right

NORMALISE = "tf.keras.layers.BatchNormalization(momentum=0.9)"

# --- Versions, plots, progress ----------------------------------------------------------------------------------------

_VERSIONS = """if hvd.rank() == 0:
    print(f"TensorFlow {tf.__version__}, Horovod {horovod.__version__}, Python {sys.version.split()[0]}")
"""
_PLOT = """    plt.plot(history.history["accuracy"], label="training")
    plt.plot(history.history["val_accuracy"], label="validation")
    plt.xlabel("epoch")
    plt.legend()
    os.makedirs(args.log_dir, exist_ok=True)
    plt.savefig(os.path.join(args.log_dir, "accuracy.png"))
    plt.close()
"""
_FIGURE = """    figure = Figure(figsize=(8, 3))
    for axes, metric in zip(figure.subplots(1, 2), ("loss", "accuracy")):
        axes.plot(history.epoch, history.history[metric], "o-")
        axes.plot(history.epoch, history.history[f"val_{metric}"], "o--")
        axes.set(title=metric, xlabel="epoch")
    os.makedirs(args.log_dir, exist_ok=True)
    figure.savefig(f"{args.log_dir}/history.pdf")
"""
_PROGRESS = "    callbacks.append(TqdmCallback(verbose=0))\n"
_OWN_PROGRESS = (
    "def __init__(self, epochs):",
    "    super().__init__()",
    '    self.bar = tqdm(total=epochs, unit="epoch", leave=False)',
    "",
    "def on_epoch_end(self, epoch, logs=None):",
    "    self.bar.set_postfix(val_accuracy=f\"{logs['val_accuracy']:.3f}\")",
    "    self.bar.update()",
    "",
    "def on_train_end(self, logs=None):",
    "    self.bar.close()",
)

_SEEN = (
    right(1, "TensorFlow's version printed")(after(INIT, "print(tf.__version__)\n")),
    right(1, "Horovod's version printed")(importing("import horovod"), after(INIT, "print(horovod.__version__)\n")),
    right(6, "versions printed on rank 0")(
        importing("import sys"), (IMPORT, f"import horovod\n{IMPORT}"), after(VERBOSE, _VERSIONS)
    ),
    right(6, "a plot of the history", in_ci=True)(
        importing("import matplotlib.pyplot as plt"), KEEP_HISTORY, after(RESULTS, _PLOT)
    ),
    right(6, "a plot without a display")(
        importing("import matplotlib"),
        after(IMPORT, 'matplotlib.use("Agg")\nfrom matplotlib import pyplot as plt  # after the back end\n'),
        KEEP_HISTORY,
        after(RESULTS, _PLOT),
    ),
    right(6, "a plot by matplotlib's objects, imported on rank 0")(
        KEEP_HISTORY, after(RESULTS, f"    from matplotlib.figure import Figure\n\n{_FIGURE}")
    ),
    right(6, "tqdm's callback on rank 0")(
        importing("from tqdm.keras import TqdmCallback"), after(TENSORBOARD, _PROGRESS)
    ),
    right(6, "a bar of epochs by tqdm")(
        importing("from tqdm.auto import tqdm"),
        callback_class("EpochBar", *_OWN_PROGRESS),
        after(TENSORBOARD, "    callbacks.append(EpochBar(args.epochs))\n"),
    ),
)

# --- Trackers that are not installed ----------------------------------------------------------------------------------

_TRACKED = """    if wandb is not None:
        wandb.init(project="fashion-mnist", config=vars(args), mode="offline")
        callbacks.append(wandb.keras.WandbCallback(save_model=False))
"""
_MLFLOW = """
try:
    import mlflow

    HAVE_MLFLOW = True
except ModuleNotFoundError:
    HAVE_MLFLOW = False
"""
_LOGGED = """    if HAVE_MLFLOW:
        mlflow.log_params(vars(args))
        mlflow.log_metric("test_accuracy", score[1])
"""
_TRACKER = '''class NullTracker:
    """Takes the place of a tracker where none is installed."""

    def log(self, values, step=None):
        """Do nothing."""

    def finish(self):
        """Do nothing."""


def make_tracker():
    """Return a run of Weights & Biases on rank 0, if it is installed."""
    if hvd.rank() == 0 and importlib.util.find_spec("wandb"):
        return importlib.import_module("wandb").init(project="fashion-mnist", mode="offline")
    return NullTracker()


tracker = make_tracker()
'''

_TRACKERS = (
    right(6, "Weights & Biases, if installed")(
        after(IMPORT, "\ntry:\n    import wandb\nexcept ImportError:\n    wandb = None\n"), after(TENSORBOARD, _TRACKED)
    ),
    right(6, "MLflow, if installed")(after(IMPORT, _MLFLOW), after(RESULTS, _LOGGED)),
    right(6, "a tracker that does nothing where none is installed")(
        importing("import importlib.util"),
        callback_class(
            "Track",
            "def on_epoch_end(self, epoch, logs=None):",
            "    tracker.log(dict(logs), step=epoch)",
            "",
            "def on_train_end(self, logs=None):",
            "    tracker.finish()",
        ),
        after(VERBOSE, f"\n\n{_TRACKER}"),
        after(AVERAGE, "callbacks.append(Track())\n"),
    ),
)

# --- Memory, other programs, settings ---------------------------------------------------------------------------------

_MEMORY = """if hvd.rank() == 0:
    memory = psutil.Process().memory_info().rss, psutil.virtual_memory().available
    print("memory: {:.1f} GiB taken, {:.1f} GiB left".format(*(each / 2**30 for each in memory)))
"""
_COMMIT = '''def commit():
    """Return the commit that the program is from, if git knows it."""
    try:
        found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


if hvd.rank() == 0:
    print("commit:", commit())
'''
_SETTINGS_FILE = """if hvd.rank() == 0:
    os.makedirs(args.log_dir, exist_ok=True)
    with open(os.path.join(args.log_dir, "settings.json"), "w") as file:
        file.write(json.dumps(args.__dict__, indent=2, sort_keys=True))
"""
_ARGUMENTS = """if hvd.rank() == 0:
    for name, value in args._get_kwargs():
        print(f"{name:>16} = {value!r}")
"""
_QUIET = """tf.autograph.set_verbosity(0)
tf.get_logger().setLevel("ERROR")
"""

_MACHINE = (
    right(6, "garbage collected after each epoch")(
        importing("import gc"),
        callback_class("CollectGarbage", "def on_epoch_end(self, epoch, logs=None):", "    gc.collect()"),
        after(AVERAGE, "callbacks.append(CollectGarbage())\n"),
    ),
    right(6, "memory by psutil on rank 0")(importing("import psutil"), after(COMPILE, _MEMORY)),
    right(6, "the commit by git")(importing("import subprocess"), after(VERBOSE, f"\n\n{_COMMIT}")),
    right(6, "settings written as JSON")(importing("import json"), after(VERBOSE, _SETTINGS_FILE)),
    right(6, "settings printed one by one")(after(VERBOSE, _ARGUMENTS)),
    right(6, "AutoGraph and TensorFlow silenced")(after(ARGS, _QUIET)),
)

# --- More of Horovod --------------------------------------------------------------------------------------------------


def sent(*imports: str, made: str) -> tuple[tuple[str, str], ...]:
    """Return edits that send an object from rank 0 to all ranks with these lines, once each rank has its GPU."""
    return (*((importing(*imports),) if imports else ()), (IMPORT, IMPORT_BOTH), after(VERBOSE, made))


_PLAN = '''

@dataclass
class Plan:
    """What a run does."""

    epochs: int
    rate: float
    name: str = "fashion-mnist"


plan = hvd_tf.broadcast_object(Plan(args.epochs, args.base_lr), root_rank=0)
if verbose:
    print(asdict(plan))
'''
_STARTED = """started = hvd_tf.broadcast_object(datetime.datetime.now(), root_rank=0)
if verbose:
    print(f"started on {started:%Y-%m-%d} at {started:%H:%M}")
"""
_FOLDER = """log_dir = hvd_tf.broadcast_object(Path(args.log_dir).resolve() if verbose else None, root_rank=0)
args.log_dir = str(log_dir / "run")
"""
_SEEDS = """seeds = hvd_tf.broadcast_object(np.random.default_rng().integers(2**31, size=hvd.size()), root_rank=0)
tf.keras.utils.set_random_seed(int(seeds[hvd.rank()]))
"""
_MEAN = own_callback(
    "MeanOfAll",
    "on_epoch_end(self, epoch, logs=None)",
    "gathered = hvd_tf.allgather_object({name: float(value) for name, value in logs.items()})",
    "for name in logs:",
    "    logs[name] = sum(each[name] for each in gathered) / len(gathered)",
)

_HOROVOD = (
    right(6, "Horovod's API for stand-alone Keras")((IMPORT, "import horovod.keras as hvd\n")),
    right(6, "batch normalisation over all ranks")(
        (IMPORT, IMPORT_BOTH),
        (NORMALISE, "hvd_tf.SyncBatchNormalization(name=f\"norm_{tf.keras.backend.get_uid('norm')}\")"),
    ),
    right(6, "Horovod's callbacks by a star import")(
        after(IMPORT, "from horovod.tensorflow.keras.callbacks import *\n"), ("hvd.callbacks.", "")
    ),
    right(6, "settings as a dictionary from rank 0", in_ci=True)(
        (IMPORT, "import horovod.tensorflow as hvd\nfrom horovod.tensorflow.keras import callbacks as of_horovod\n"),
        ("hvd.callbacks.", "of_horovod."),
        after(VERBOSE, "cfg = hvd.broadcast_object(vars(args))\nargs = argparse.Namespace(**cfg)\n"),
    ),
    right(6, "settings as a Namespace from rank 0")(*sent(made="args = hvd_tf.broadcast_object(args, root_rank=0)\n")),
    right(6, "a dataclass from rank 0")(*sent("from dataclasses import asdict, dataclass", made=_PLAN)),
    right(6, "a date from rank 0")(*sent("import datetime", made=_STARTED)),
    right(6, "a path from rank 0")(*sent("from pathlib import Path", made=_FOLDER)),
    right(6, "an array of seeds from rank 0")(*sent("import numpy as np", made=_SEEDS)),
    right(6, "metrics averaged from gathered objects")(
        (IMPORT, IMPORT_BOTH), (LIST_OF_CALLBACKS, _MEAN), (AVERAGE, "callbacks.append(MeanOfAll())\n")
    ),
)

CORRECT = (*_SEEN, *_TRACKERS, *_MACHINE, *_HOROVOD)
