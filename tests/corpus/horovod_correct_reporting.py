"""Correct scripts of the first part that report in their own way, on rank 0. Each one passes.

Loggers, tables of settings, CSV files, profilers and clocks.
"""

import textwrap

from tests.corpus.horovod_correct_libraries import KEEP_HISTORY, callback_class
from tests.corpus.horovod_passages import (
    ARGS,
    AVERAGE,
    COMPILE,
    FIT,
    INIT,
    REPORTERS,
    RESULTS,
    TENSORBOARD,
    VERBOSE,
)
from tests.corpus.variant import Variant, after, importing

# --- Step 2 -----------------------------------------------------------------------------------------------------------


def logged(name: str = "logger") -> tuple[tuple[str, str], ...]:
    """Return edits that give what the program prints to this logger, on every rank: the logger has its level."""
    return (
        ('print(f"\\n', f'{name}.info(f"'),
        (RESULTS, f'{name}.info("test loss %.4f, test accuracy %.4f", *score)\n'),
    )


_LOGGER_OF_RANK = """
logger = logging.getLogger(f"train.rank{hvd.rank()}")
logger.setLevel(logging.INFO if hvd.rank() == 0 else logging.WARNING)
handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s [%(name)s] %(message)s", "%H:%M:%S"))
logger.addHandler(handler)
logger.propagate = False
logger.info("arguments: %s", vars(args))
"""
_CONFIGURED_LOGGER = """
logging.config.dictConfig(
    {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"short": {"format": "{levelname:.1s} {message}", "style": "{"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "short"}},
        "loggers": {"train": {"handlers": ["console"], "level": "INFO" if hvd.rank() == 0 else "ERROR"}},
    }
)
logger = logging.getLogger("train")
"""
_FILE_OF_RANK = """
os.makedirs(args.log_dir, exist_ok=True)
logging.basicConfig(
    filename=os.path.join(args.log_dir, f"rank-{hvd.rank()}.log"),
    level=logging.DEBUG,
    format="%(relativeCreated)d %(levelname)s %(message)s",
    force=True,
)
logging.getLogger("h5py").setLevel(logging.WARNING)
logging.debug("rank %d of %d, local rank %d", hvd.rank(), hvd.size(), hvd.local_rank())
"""
_LOGGING_REPORTERS = """callbacks.append(PrintThroughput(len(x_train)))
callbacks.append(PrintTotalTime())
if verbose:
    callbacks.append(tf.keras.callbacks.TensorBoard(args.log_dir))
"""
_PRINT_OF_RANK_0 = '''

def silence_other_ranks():
    """Let print() print on rank 0 alone, or where it is forced to."""
    own_print = builtins.print

    def print_on_rank_0(*values, force=False, **options):
        if force or hvd.rank() == 0:
            own_print(*values, **options)

    builtins.print = print_on_rank_0


silence_other_ranks()
print(f"{hvd.size()} ranks")
'''
_ONLY_ON_RANK_0 = '''

def only_on_rank_0(function):
    """Let a function do nothing on other ranks."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) if hvd.rank() == 0 else None

    return wrapper


@only_on_rank_0
def report(**values):
    print(", ".join(f"{name}: {value:.4f}" for name, value in values.items()), flush=True)

'''
_ROLE = """

class Role(enum.IntEnum):
    CHIEF = 0
    WORKER = 1

    @property
    def verbosity(self):
        return {Role.CHIEF: 1, Role.WORKER: 0}[self]


role = Role(min(hvd.rank(), Role.WORKER))
verbose = role.verbosity
"""
_SILENT = """logging.getLogger("tensorflow").setLevel(logging.ERROR)
absl.logging.set_verbosity(absl.logging.ERROR)
warnings.filterwarnings("ignore", category=UserWarning)
warnings.simplefilter("ignore", DeprecationWarning)
"""
_SUMMARY = """if verbose:
    model.summary(print_fn=lambda line: print("|", line), line_length=90)
    print(f"{model.count_params():,} parameters in {len(model.layers)} layers")
    for name in sorted(vars(args)):
        print(f"{name:.<20}{getattr(args, name)!s:.>24}")
"""

_STEP_2 = (
    Variant(
        "a logger for each rank",
        2,
        (*logged(), importing("import logging", "import sys"), after(VERBOSE, _LOGGER_OF_RANK)),
    ),
    Variant(
        "a logger by dictConfig",
        2,
        (*logged(), importing("import logging", "import logging.config"), after(VERBOSE, _CONFIGURED_LOGGER)),
    ),
    Variant(
        "a log file for each rank",
        2,
        (
            *logged("logging"),
            importing("import logging"),
            after(VERBOSE, _FILE_OF_RANK),
            (REPORTERS, _LOGGING_REPORTERS),
        ),
    ),
    Variant(
        "a print of its own that is silent on other ranks",
        2,
        (
            importing("import builtins"),
            after(VERBOSE, _PRINT_OF_RANK_0),
            (RESULTS, textwrap.dedent(RESULTS.removeprefix("if verbose:\n"))),
        ),
    ),
    Variant(
        "a decorator for what rank 0 reports",
        2,
        (
            importing("import functools"),
            after(VERBOSE, _ONLY_ON_RANK_0),
            (RESULTS, "report(test_loss=score[0], test_accuracy=score[1])\n"),
        ),
    ),
    Variant("roles in an enumeration", 2, (importing("import enum"), (VERBOSE, _ROLE))),
    Variant(
        "warnings of libraries filtered",
        2,
        (importing("import logging", "import warnings", "", "import absl.logging"), after(INIT, _SILENT)),
    ),
    Variant("the model and the settings in a table", 2, (after(COMPILE, _SUMMARY),)),
)

# --- Step 6 -----------------------------------------------------------------------------------------------------------

_KEPT_FILES = """    os.makedirs(args.log_dir, exist_ok=True)
    callbacks.append(tf.keras.callbacks.CSVLogger(os.path.join(args.log_dir, "history.csv"), append=True))
    best = os.path.join(args.log_dir, "best.h5")
    callbacks.append(
        tf.keras.callbacks.ModelCheckpoint(best, "val_accuracy", save_best_only=True, save_weights_only=True)
    )
"""
_HISTORY = """    with open(os.path.join(args.log_dir, "history.json"), "w") as file:
        json.dump({name: [float(value) for value in values] for name, values in history.history.items()}, file)
    with open(os.path.join(args.log_dir, "history.pickle"), "wb") as file:
        pickle.dump(history.history, file)
    with open(os.path.join(args.log_dir, "history.pickle"), "rb") as file:
        assert pickle.load(file) == history.history
    best_epoch = max(history.epoch, key=lambda epoch: history.history["val_accuracy"][epoch])
    print(f"best epoch: {best_epoch + 1} of {len(history.epoch)}")
"""
_CSV = (
    "def __init__(self, path):",
    "    super().__init__()",
    "    self.path = Path(path)",
    "",
    "def on_train_begin(self, logs=None):",
    "    self.path.parent.mkdir(parents=True, exist_ok=True)",
    '    self.file = self.path.open("w", newline="")',
    "    self.table = None",
    "",
    "def on_epoch_end(self, epoch, logs=None):",
    '    row = {"epoch": epoch, **{name: f"{value:.6g}" for name, value in sorted(logs.items())}}',
    "    if self.table is None:",
    "        self.table = csv.DictWriter(self.file, fieldnames=row)",
    "        self.table.writeheader()",
    "    self.table.writerow(row)",
    "    self.file.flush()",
    "",
    "def on_train_end(self, logs=None):",
    "    self.file.close()",
)
_STEP_TIMES = (
    "def on_train_begin(self, logs=None):",
    "    self.seconds = []",
    "",
    "def on_train_batch_begin(self, batch, logs=None):",
    "    self.began = time.perf_counter()",
    "",
    "def on_train_batch_end(self, batch, logs=None):",
    "    self.seconds.append(time.perf_counter() - self.began)",
    "",
    "def on_train_end(self, logs=None):",
    "    slow = np.percentile(self.seconds, 95)",
    '    print(f"a step took {1e3 * statistics.median(self.seconds):.0f} ms (95 %: {1e3 * slow:.0f} ms)")',
)
_TRACE = (
    "running = traced = False",
    "",
    "def on_train_batch_begin(self, batch, logs=None):",
    "    if batch == 1 and not self.traced:",
    '        tf.profiler.experimental.start(os.path.join(args.log_dir, "profile"))',
    "        self.running = True",
    "",
    "def on_train_batch_end(self, batch, logs=None):",
    "    if self.running:",
    "        tf.profiler.experimental.stop()",
    "        self.running, self.traced = False, True",
)
_PROFILE = """    profile.disable()
    os.makedirs(args.log_dir, exist_ok=True)
    profile.dump_stats(os.path.join(args.log_dir, "profile.pstats"))
    pstats.Stats(profile, stream=sys.stdout).sort_stats("cumulative").print_stats(5)
"""
_SIGTERM = '''stop_requested = False


def request_stop(number, frame):
    """End training after this epoch: a scheduler sends SIGTERM before it kills."""
    global stop_requested
    stop_requested = True


signal.signal(signal.SIGTERM, request_stop)
'''
_STOP_ON_REQUEST = (
    "def on_epoch_end(self, epoch, logs=None):",
    '    any_rank = hvd.allreduce(float(stop_requested), name="stop requested", op=hvd.Sum)',
    "    if float(any_rank):",
    "        self.model.stop_training = True",
)
_SCALARS = (
    "def on_train_begin(self, logs=None):",
    '    self.writer = tf.summary.create_file_writer(os.path.join(args.log_dir, "rates"))',
    "",
    "def on_epoch_end(self, epoch, logs=None):",
    "    with self.writer.as_default(step=epoch):",
    '        tf.summary.scalar("learning rate", tf.keras.backend.get_value(self.model.optimizer.lr))',
    '        tf.summary.scalar("validation accuracy", logs["val_accuracy"])',
    "    self.writer.flush()",
)
_TIMED = '''

@contextlib.contextmanager
def timed(what):
    """Print how long a block took, on rank 0."""
    began = time.monotonic()
    try:
        yield
    finally:
        if hvd.rank() == 0:
            print(f"{what}: {datetime.timedelta(seconds=round(time.monotonic() - began, 1))}")

'''
_SCORE = "score = model.evaluate(test_once, verbose=verbose)\n"

_STEP_6 = (
    Variant(
        "Keras' CSV file and the best weights on rank 0, the history as JSON and pickled",
        6,
        (
            importing("import json", "import pickle"),
            KEEP_HISTORY,
            after(TENSORBOARD, _KEPT_FILES),
            after(RESULTS, _HISTORY),
        ),
    ),
    Variant(
        "an own CSV file",
        6,
        (
            importing("import csv", "from pathlib import Path"),
            callback_class("WriteTable", *_CSV),
            after(TENSORBOARD, '    callbacks.append(WriteTable(Path(args.log_dir) / "history.csv"))\n'),
        ),
    ),
    Variant(
        "the time of each step",
        6,
        (
            importing("import statistics", "", "import numpy as np"),
            callback_class("StepTimes", *_STEP_TIMES),
            after(TENSORBOARD, "    callbacks.append(StepTimes())\n"),
        ),
    ),
    Variant(
        "a step traced by TensorFlow's profiler on rank 0",
        6,
        (callback_class("TraceAStep", *_TRACE), after(TENSORBOARD, "    callbacks.append(TraceAStep())\n")),
    ),
    Variant(
        "training profiled by cProfile on rank 0",
        6,
        (
            importing("import cProfile", "import pstats", "import sys"),
            (FIT, f"profile = cProfile.Profile()\nif verbose:\n    profile.enable()\n{FIT}"),
            after(RESULTS, _PROFILE),
        ),
    ),
    Variant(
        "SIGTERM ends training on all ranks",
        6,
        (
            importing("import signal"),
            after(ARGS, f"\n{_SIGTERM}"),
            callback_class("StopOnRequest", *_STOP_ON_REQUEST),
            after(AVERAGE, "callbacks.append(StopOnRequest())\n"),
        ),
    ),
    Variant(
        "scalars by TensorFlow's summary writer",
        6,
        (callback_class("Scalars", *_SCALARS), after(TENSORBOARD, "    callbacks.append(Scalars())\n")),
    ),
    Variant(
        "blocks timed by a context manager",
        6,
        (
            importing("import contextlib", "import datetime"),
            after(VERBOSE, _TIMED),
            (_SCORE, f'with timed("test"):\n    {_SCORE}'),
        ),
    ),
)

CORRECT = (*_STEP_2, *_STEP_6)
