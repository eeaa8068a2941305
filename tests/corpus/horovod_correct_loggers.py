"""Correct scripts of step 2 that report in another way: loggers, tables, a print() of their own. Each one passes."""

import textwrap

from tests.corpus.horovod_passages import COMPILE, INIT, REPORTERS, RESULTS, VERBOSE
from tests.corpus.variant import after, importing, right


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

CORRECT = (
    right(2, "a logger for each rank")(
        *logged(), importing("import logging", "import sys"), after(VERBOSE, _LOGGER_OF_RANK)
    ),
    right(2, "a logger by dictConfig")(
        *logged(), importing("import logging", "import logging.config"), after(VERBOSE, _CONFIGURED_LOGGER)
    ),
    right(2, "a log file for each rank")(
        *logged("logging"), importing("import logging"), after(VERBOSE, _FILE_OF_RANK), (REPORTERS, _LOGGING_REPORTERS)
    ),
    right(2, "a print of its own that is silent on other ranks")(
        importing("import builtins"),
        after(VERBOSE, _PRINT_OF_RANK_0),
        (RESULTS, textwrap.dedent(RESULTS.removeprefix("if verbose:\n"))),
    ),
    right(2, "a decorator for what rank 0 reports")(
        importing("import functools"),
        after(VERBOSE, _ONLY_ON_RANK_0),
        (RESULTS, "report(test_loss=score[0], test_accuracy=score[1])\n"),
    ),
    right(2, "roles in an enumeration")(importing("import enum"), (VERBOSE, _ROLE)),
    right(2, "warnings of libraries filtered")(
        importing("import logging", "import warnings", "", "import absl.logging"), after(INIT, _SILENT)
    ),
    right(2, "the model and the settings in a table")(after(COMPILE, _SUMMARY)),
)
