"""Run a training script inside a rank and note what Keras did there, for the lessons' figures.

    mpirun -np 2 python -m course.watch DIRECTORY script.py --its --arguments

The script runs as it would by itself, with one callback more at each end of the list that it gives to fit(). What
they saw goes to DIRECTORY, one file a rank, which read() turns into Records. Where COURSE_WATCH_WEIGHTS is set, the
trainable weights after every batch are kept too; where COURSE_WATCH_ONE_CORE is, each rank computes on one core only;
where COURSE_WATCH_RANK is, that is the process's number, and not what mpirun says; where COURSE_WATCH_HOSTS is, the
ranks are laid out on so many simulated hosts, and meet at COURSE_WATCH_RENDEZVOUS.
In the script's arguments, {rank} becomes the rank's number.
"""

import functools
import inspect
import json
import os
import runpy
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from course import hosts

MAX_COORDINATES = 200_000  # of the weights, kept a batch: all of the small model's, a sample of the full one's
MAX_BATCHES = 200


@dataclass
class Epoch:
    """What one rank did in one epoch. Times are seconds since 1970."""

    start: float
    steps: int = 0  # training batches
    train_end: float = 0.0
    end: float = 0.0  # validation included
    validation_steps: int = 0
    own_logs: dict[str, float] = field(default_factory=dict)  # as the first callback saw them
    final_logs: dict[str, float] = field(default_factory=dict)  # as the last callback saw them


@dataclass
class Record:
    """What one rank did in a run."""

    rank: int  # as mpirun counts, or the task's index
    pid: int
    horovod: list[int] | None = None  # [rank, size, local rank] as Horovod says at fit(); None where it is not in use
    gpus: list[str] = field(default_factory=list)  # those TensorFlow can see at fit()
    epochs: list[Epoch] = field(default_factory=list)
    batch_ends: list[float] = field(default_factory=list)  # seconds since 1970
    weights: np.ndarray | None = None  # shape (batches + 1, coordinates): before the first batch, then after each
    samples: dict[str, int] = field(default_factory=dict)  # how many images each folder has: {"train": …, "val": …}
    drawn: dict[str, list[list[int]]] = field(default_factory=dict)  # folder -> batches -> numbers of images in it
    worker_steps: list[tuple[int, float, float]] = field(default_factory=list)  # a coordinator's: worker, start, end

    def trained_on(self, epoch: int) -> list[list[int]]:
        """Return the numbers of the images in each training batch of an epoch, counted from 0.

        Raises:
            ValueError: the script did not read them by Keras' flow_from_directory.
        """
        if "train" not in self.drawn:
            raise ValueError(f"Rank {self.rank} read no images by flow_from_directory, so nobody noted which ones.")
        before = sum(earlier.steps for earlier in self.epochs[:epoch])
        return self.drawn["train"][before : before + self.epochs[epoch].steps]


def read(directory: Path) -> list[Record]:
    """Return the Records in a directory, by rank. Ranks that ended before fit() did have none."""
    records = []
    for path in directory.glob("rank_*.json"):
        fields = json.loads(path.read_text())
        fields["epochs"] = [Epoch(**epoch) for epoch in fields["epochs"]]
        record = Record(**fields)
        if path.with_suffix(".npy").exists():
            record.weights = np.load(path.with_suffix(".npy"))
        records.append(record)
    return sorted(records, key=lambda record: record.rank)


def _callbacks(record: Record, keep_weights: bool, batches: bool) -> tuple:
    """Return the two callbacks to put before and behind a script's own; without batches, they see epochs alone."""
    import tensorflow as tf

    kept = []

    class First(tf.keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            record.gpus = [gpu.name.removeprefix("/physical_device:") for gpu in tf.config.get_visible_devices("GPU")]
            hvd = sys.modules.get("horovod.tensorflow")
            if hvd and hvd.is_initialized():
                record.horovod = [hvd.rank(), hvd.size(), hvd.local_rank()]

        def on_epoch_begin(self, epoch, logs=None):
            record.epochs.append(Epoch(start=time.time()))

        def on_train_batch_end(self, batch, logs=None):
            record.batch_ends.append(time.time())
            record.epochs[-1].steps += 1
            record.epochs[-1].train_end = record.batch_ends[-1]

        def on_test_begin(self, logs=None):
            record.epochs[-1].train_end = record.epochs[-1].train_end or time.time()

        def on_test_batch_end(self, batch, logs=None):
            record.epochs[-1].validation_steps += 1

        def on_epoch_end(self, epoch, logs=None):
            record.epochs[-1].own_logs = {name: float(value) for name, value in logs.items()}

    class Last(tf.keras.callbacks.Callback):
        def keep(self):
            if keep_weights and len(kept) <= MAX_BATCHES:
                flat = np.concatenate([weight.numpy().ravel() for weight in self.model.trainable_weights])
                kept.append(flat[:: len(flat) // MAX_COORDINATES + 1])

        def on_train_begin(self, logs=None):
            self.keep()

        def on_train_batch_end(self, batch, logs=None):
            self.keep()

        def on_epoch_end(self, epoch, logs=None):
            record.epochs[-1].end = time.time()
            record.epochs[-1].final_logs = {name: float(value) for name, value in logs.items()}

        def on_train_end(self, logs=None):
            if kept:
                record.weights = np.stack(kept)

    if not batches:
        del First.on_train_batch_end, First.on_test_batch_end, Last.on_train_batch_end
    return First(), Last()


def _watch_fit(record: Record, keep_weights: bool) -> None:
    """Make every fit() of Keras note what it does."""
    import tensorflow as tf

    fit = tf.keras.Model.fit
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    def watched_fit(*args, **kwargs):
        call = signature.bind(*args, **kwargs)
        strategy = call.arguments["self"].distribute_strategy
        # A coordinator hands out steps, and does not know when each one ends. Keras refuses to call it then.
        batches = not isinstance(strategy, tf.distribute.experimental.ParameterServerStrategy)
        if not batches:
            _watch_workers(record)
        first, last = _callbacks(record, keep_weights, batches)
        call.arguments["callbacks"] = [first, *(call.arguments.get("callbacks") or []), last]
        return fit(*call.args, **call.kwargs)

    tf.keras.Model.fit = watched_fit


def _watch_workers(record: Record) -> None:
    """Make a coordinator note which worker did each step, and when. It tells nobody: this is inside of TensorFlow."""
    from tensorflow.python.distribute.coordinator import cluster_coordinator

    execute_on = cluster_coordinator.Closure.execute_on

    @functools.wraps(execute_on)
    def watched_execute(step, worker):
        start = time.time()
        execute_on(step, worker)  # returns when the worker is done, and raises where it is gone
        if not isinstance(step, cluster_coordinator.ResourceClosure):  # those make a worker's data
            record.worker_steps.append((worker.worker_index, start, time.time()))

    cluster_coordinator.Closure.execute_on = watched_execute


def _watch_images(record: Record) -> None:
    """Make every reader of a folder of images note which ones it reads. Keras reads some batches ahead."""
    from tensorflow.keras.preprocessing.image import DirectoryIterator

    read_batch = DirectoryIterator._get_batches_of_transformed_samples

    @functools.wraps(read_batch)
    def watched_read(images, numbers):
        folder = Path(images.directory).name
        record.samples[folder] = images.samples
        record.drawn.setdefault(folder, []).append([int(number) for number in numbers])
        return read_batch(images, numbers)

    DirectoryIterator._get_batches_of_transformed_samples = watched_read


def _be_on_host(rank: int) -> None:
    """Take this rank's place on one of the simulated hosts, and work in the folder that is the host's disk."""
    count, size = int(os.environ["COURSE_WATCH_HOSTS"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    os.environ.update(hosts.variables(rank, count, size // count, os.environ["COURSE_WATCH_RENDEZVOUS"]))
    disk = Path(os.environ["HOROVOD_HOSTNAME"])
    disk.mkdir(exist_ok=True)
    os.chdir(disk)


def _print_own_traceback(error: BaseException, script: str) -> None:
    """Print where the script failed, without the frames that led to the script."""
    frame = error.__traceback__
    while frame.tb_next and frame.tb_frame.f_code.co_filename != script:
        frame = frame.tb_next
    traceback.print_exception(error.with_traceback(frame))


def main(directory: str, script: str, *arguments: str) -> int:
    """Run the script as the main program, write this rank's record, and return the exit status."""
    rank = os.environ.get("COURSE_WATCH_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK", "0")
    record = Record(rank=int(rank), pid=os.getpid())
    if "COURSE_WATCH_ONE_CORE" in os.environ:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[record.rank % len(cores)]})
    if "COURSE_WATCH_HOSTS" in os.environ:
        script = str(Path(script).resolve())
        _be_on_host(record.rank)
    _watch_fit(record, "COURSE_WATCH_WEIGHTS" in os.environ)
    _watch_images(record)
    sys.argv = [script, *(argument.replace("{rank}", str(record.rank)) for argument in arguments)]
    sys.path[0] = str(Path(script).parent.resolve())
    try:
        runpy.run_path(script, run_name="__main__")
    except Exception as error:
        _print_own_traceback(error, script)
        # At once: an orderly exit waits for the other ranks, they wait for this one, and the fault seems to be theirs.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    finally:
        path = Path(directory) / f"rank_{record.rank}.json"
        if record.weights is not None:
            np.save(path.with_suffix(".npy"), record.weights)
        fields = vars(record) | {"weights": None, "epochs": [vars(epoch) for epoch in record.epochs]}
        path.write_text(json.dumps(fields))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
