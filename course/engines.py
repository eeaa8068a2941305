"""The same training on each of four engines: how fast it is, what it uses, and what becomes of it if a process dies.

All programs are in solutions/. Their network, their data, and the images in a step of all workers are the same.
"""

import difflib
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from course import cluster, faults, launch
from course.cluster import Cluster
from course.meter import Meter
from course.steps import SOLUTIONS
from course.watch import Record

ONE = "one process"
HOROVOD = "Horovod"
MULTI_WORKER = "MultiWorkerMirroredStrategy"
PARAMETER_SERVER = "ParameterServerStrategy"

PROGRAMS = {
    ONE: SOLUTIONS / "mnist_one_gpu.py",
    HOROVOD: SOLUTIONS / "mnist_horovod.py",
    MULTI_WORKER: SOLUTIONS / "mnist_multi_worker_solution.py",
    PARAMETER_SERVER: SOLUTIONS / "mnist_parameter_server.py",
}
SERVER = SOLUTIONS / "parameter_server" / "worker_and_ps.py"
# Open MPI's processes of one host share memory, which no counter sees. Over TCP they do what those of two hosts would.
OVER_TCP = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
KILLED_IN = 3  # the epoch in which a process is killed; where the training goes on, another one two epochs later


@dataclass(frozen=True)
class Task:
    """What all engines have to do."""

    workers: int
    epochs: int
    train_samples: int  # those held out for validation included
    data_dir: str | None = None
    batch_size: int = 32  # images of a worker and step

    @property
    def global_batch(self) -> int:
        """The images of a step, on all workers together."""
        return self.workers * self.batch_size

    @property
    def steps(self) -> int:
        """How many steps there are in an epoch."""
        return (self.train_samples - self.train_samples // 6) // self.global_batch

    def flags(self, engine: str) -> dict[str, object]:
        """Return the arguments of an engine's program."""
        flags = {"epochs": self.epochs, "train_samples": self.train_samples, "data_dir": self.data_dir}
        flags["batch_size"] = self.global_batch if engine == ONE else self.batch_size
        if engine == MULTI_WORKER:
            flags["save_freq"] = self.steps  # once an epoch, as the others save
        return flags


@dataclass(frozen=True)
class Measured:
    """What one run of an engine took."""

    images_per_second: float  # of the median epoch, without the first, and without validation
    bytes_a_step: float  # received by all processes together, for each global batch of images
    cpu: float  # cores' time that all processes together use in a second of training
    accuracies: list[tuple[float, float]]  # after each epoch: seconds since the start, accuracy in validation

    def seconds_to(self, accuracy: float) -> float | None:
        """Return the seconds until the first epoch that came to an accuracy had ended; None where none did."""
        return next((seconds for seconds, reached in self.accuracies if reached >= accuracy), None)


@dataclass(frozen=True)
class Loss:
    """What became of a run when one of its processes was killed."""

    engine: str
    killed: str
    went_on: bool
    seconds: float  # until the next epoch began, or until the last process that trained had ended


def measure(engine: str, task: Task, say: Callable[[str], None] = print) -> Measured:
    """Run the training, of two epochs or more, on one engine, a key of PROGRAMS, and return what it took.

    say takes each line that a process prints, as it comes. A launch.RunError says that the training failed.
    """
    with tempfile.TemporaryDirectory(prefix="course-engine-") as logs, Meter() as meter:
        began = time.time()
        record = _train(engine, task, task.flags(engine) | {"log_dir": logs}, say)
    return summarise(record, meter, task, began)


def _train(engine: str, task: Task, flags: dict[str, object], say: Callable[[str], None]) -> Record:
    """Return the record of the process that reports."""
    if engine == MULTI_WORKER:
        return cluster.script(PROGRAMS[engine], task.workers, say=say, **flags).records[0]
    if engine == PARAMETER_SERVER:
        with _servers(task, say) as servers:
            servers.start("chief", 0, PROGRAMS[engine], **flags)
            servers.wait()
            return servers.watched()[0]
    np = 1 if engine == ONE else task.workers
    return launch.script(PROGRAMS[engine], np, variables=OVER_TCP, say=say, **flags).records[0]


@contextmanager
def _servers(task: Task, say: Callable[[str], None]):
    """Start a parameter server and the workers, of a cluster that has a chief too."""
    with Cluster(say, chief=1, ps=1, worker=task.workers) as servers:
        for kind, index in servers.tasks:
            if kind != "chief":
                servers.start(kind, index, SERVER)
        yield servers


def summarise(record: Record, meter: Meter, task: Task, began: float) -> Measured:
    """Return what a run took, from what was seen in the process that reports, and what all of them used."""
    steady = record.epochs[1:]  # in the first one, the graph is made
    used = [meter.used(epoch.start, epoch.train_end) for epoch in steady]
    seconds = [epoch.train_end - epoch.start for epoch in steady]
    return Measured(
        images_per_second=task.steps * task.global_batch / median(seconds),
        bytes_a_step=sum(received for _, received in used) / (task.steps * len(steady)),
        cpu=sum(cpu for cpu, _ in used) / sum(seconds),
        accuracies=[(epoch.end - began, epoch.final_logs["val_accuracy"]) for epoch in record.epochs],
    )


def lose_a_process(engine: str, task: Task, say: Callable[[str], None] = print) -> list[Loss]:
    """Run the training on one engine, kill one of its processes by SIGKILL, and return what becomes of the others.

    Where the training goes on without a worker, the parameter server is killed after it. See measure() for the rest.
    """
    task = replace(task, epochs=KILLED_IN + 4)
    with tempfile.TemporaryDirectory(prefix="course-engine-") as logs:
        flags = task.flags(engine) | {"log_dir": logs}
        if engine == MULTI_WORKER:
            return _lose_a_worker(task, flags, say)
        if engine == PARAMETER_SERVER:
            return _lose_servers(task, flags, say)
        np = 1 if engine == ONE else task.workers
        flags |= {"variables": OVER_TCP, "say": say}
        failure = faults.kill_rank(PROGRAMS[engine], np, rank=np - 1, epoch=KILLED_IN, **flags)
    return [Loss(engine, "the process" if engine == ONE else f"rank {np - 1}", False, time.time() - failure.killed)]


def _lose_a_worker(task: Task, flags: dict[str, object], say: Callable[[str], None]) -> list[Loss]:
    with Cluster(say, worker=task.workers) as workers:
        started = [workers.start("worker", index, PROGRAMS[MULTI_WORKER], **flags) for index in range(task.workers)]
        _await_mid_epoch(workers, started[0], KILLED_IN)
        workers.kill(started[-1])
        for worker in started:
            workers.await_end(worker)
        seconds = max(worker.ended for worker in started) - started[-1].ended
    return [Loss(MULTI_WORKER, started[-1].name, False, seconds)]


def _lose_servers(task: Task, flags: dict[str, object], say: Callable[[str], None]) -> list[Loss]:
    """Kill a worker, and two epochs later the parameter server."""
    with _servers(task, say) as servers:
        chief = servers.start("chief", 0, PROGRAMS[PARAMETER_SERVER], **flags)
        ps, worker = servers.tasks["ps", 0], servers.tasks["worker", task.workers - 1]
        _await_mid_epoch(servers, chief, KILLED_IN)
        servers.kill(worker)
        servers.await_line(chief, lambda text: text.startswith(f"Epoch {KILLED_IN + 1}/"))
        _await_mid_epoch(servers, chief, KILLED_IN + 2)
        servers.kill(ps)
        servers.await_end(chief)
    return [
        Loss(PARAMETER_SERVER, worker.name, True, _epoch_starts(chief)[KILLED_IN] - worker.ended),
        Loss(PARAMETER_SERVER, ps.name, False, chief.ended - ps.ended),
    ]


def _await_mid_epoch(of: Cluster, reporter: cluster.Task, epoch: int) -> None:
    """Wait until half of an epoch should be over, by how long the one before took."""
    of.await_line(reporter, lambda text: text.startswith(f"Epoch {epoch}/"))
    before, now = _epoch_starts(reporter)[epoch - 2 : epoch]
    time.sleep((now - before) / 2)


def _epoch_starts(reporter: cluster.Task) -> list[float]:
    return [when for when, text in reporter.lines if text.startswith("Epoch ")]


def new_lines(program: Path, beside: Path = PROGRAMS[ONE]) -> list[str]:
    """Return a program's lines that another has not; indentation, comments and the opening text do not count."""
    texts = (path.read_text().split('"""', 2)[2] for path in (beside, program))
    before, after = ([line.strip() for line in text.splitlines()] for text in texts)
    marked = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]  # without the files' names
    return [line[1:] for line in marked if line[0] == "+" and line[1:] and line[1] != "#"]
