"""Correct scripts of step 6 that write tables and profiles, and measure times, on rank 0. Each one passes."""

from tests.corpus.horovod_passages import (
    ARGS,
    AVERAGE,
    FIT,
    KEEP_HISTORY,
    RESULTS,
    TENSORBOARD,
    VERBOSE,
    callback_class,
)
from tests.corpus.variant import after, importing, right

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

CORRECT = (
    right(6, "Keras' CSV file and the best weights on rank 0, the history as JSON and pickled")(
        importing("import json", "import pickle"),
        KEEP_HISTORY,
        after(TENSORBOARD, _KEPT_FILES),
        after(RESULTS, _HISTORY),
    ),
    right(6, "an own CSV file")(
        importing("import csv", "from pathlib import Path"),
        callback_class("WriteTable", *_CSV),
        after(TENSORBOARD, '    callbacks.append(WriteTable(Path(args.log_dir) / "history.csv"))\n'),
    ),
    right(6, "the time of each step")(
        importing("import statistics", "", "import numpy as np"),
        callback_class("StepTimes", *_STEP_TIMES),
        after(TENSORBOARD, "    callbacks.append(StepTimes())\n"),
    ),
    right(6, "a step traced by TensorFlow's profiler on rank 0")(
        callback_class("TraceAStep", *_TRACE), after(TENSORBOARD, "    callbacks.append(TraceAStep())\n")
    ),
    right(6, "training profiled by cProfile on rank 0")(
        importing("import cProfile", "import pstats", "import sys"),
        (FIT, f"profile = cProfile.Profile()\nif verbose:\n    profile.enable()\n{FIT}"),
        after(RESULTS, _PROFILE),
    ),
    right(6, "SIGTERM ends training on all ranks")(
        importing("import signal"),
        after(ARGS, f"\n{_SIGTERM}"),
        callback_class("StopOnRequest", *_STOP_ON_REQUEST),
        after(AVERAGE, "callbacks.append(StopOnRequest())\n"),
    ),
    right(6, "scalars by TensorFlow's summary writer")(
        callback_class("Scalars", *_SCALARS), after(TENSORBOARD, "    callbacks.append(Scalars())\n")
    ),
    right(6, "blocks timed by a context manager")(
        importing("import contextlib", "import datetime"),
        after(VERBOSE, _TIMED),
        (_SCORE, f'with timed("test"):\n    {_SCORE}'),
    ),
)
