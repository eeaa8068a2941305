"""Compare four engines on the same training: speed, CPU and network use, and the effect of a killed process.

The programs are in solutions/. They have the same network, the same data, and the same number of images per step of all
workers together.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Protocol

from course import cluster, faults, launch
from course.cluster import Cluster
from course.internal.meter import Meter
from course.record.records import Record
from course.steps import SOLUTIONS

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
# Open MPI's processes on one host use shared memory, which no counter includes. Over TCP they behave as on two hosts.
OVER_TCP = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
KILLED_IN = 3  # the epoch in which a process is killed; if the training continues, a second one is two epochs later


@dataclass(frozen=True)
class Workload:
    """The training that all engines run."""

    workers: int
    epochs: int
    train_samples: int  # those held out for validation included
    data_dir: str | None = None
    batch_size: int = 32  # images per worker and step

    @property
    def global_batch(self) -> int:
        """Images per step, on all workers together."""
        return self.workers * self.batch_size

    @property
    def steps(self) -> int:
        """Steps per epoch."""
        return (self.train_samples - self.train_samples // 6) // self.global_batch

    def flags(self, engine: str) -> dict[str, Any]:
        """Return the arguments of an engine's program."""
        flags: dict[str, Any] = {"epochs": self.epochs, "train_samples": self.train_samples, "data_dir": self.data_dir}
        flags["batch_size"] = self.global_batch if engine == ONE else self.batch_size
        if engine == MULTI_WORKER:
            flags["save_freq"] = self.steps  # once an epoch, as the others save
        return flags


@dataclass(frozen=True)
class Measured:
    """What was measured in one run of an engine."""

    images_per_second: float  # in the median epoch, without the first one, and without validation
    bytes_a_step: float  # received per step by all processes together
    cpu: float  # busy cores: seconds of CPU per second of training, of all processes together
    accuracies: list[tuple[float, float]]  # per epoch: seconds from the start to its end, accuracy in validation

    def seconds_to(self, accuracy: float) -> float | None:
        """Return the seconds from the start to the end of the first epoch that reached an accuracy, or None."""
        return next((seconds for seconds, reached in self.accuracies if reached >= accuracy), None)


@dataclass(frozen=True)
class Loss:
    """The effect of killing one process of a run."""

    engine: str
    killed: str
    went_on: bool  # whether the training continued without it
    seconds: float  # until the next epoch began, or until the last process that trained had ended


class Usage(Protocol):
    """Anything that reports resource usage as a Meter does."""

    def used(self, begin: float, end: float) -> tuple[float, float]:
        """Return the seconds of CPU and the bytes received between two times."""


def measure(engine: str, workload: Workload, say: Callable[[str], None] | None = None) -> Measured:
    """Run the training on one engine and return what was measured.

    Args:
        engine: a key of PROGRAMS.
        workload: the training, of two epochs or more.
        say: as for launch.script().

    Raises:
        launch.RunError: the training failed.
    """
    with tempfile.TemporaryDirectory(prefix="course-engine-") as logs, Meter() as meter:
        began = time.time()
        record = _train(engine, workload, workload.flags(engine) | {"log_dir": logs}, say)
    return summarise(record, meter, workload, began)


def _train(engine: str, workload: Workload, flags: dict[str, Any], say: Callable[[str], None] | None) -> Record:
    """Run the training and return the record of rank 0, worker 0 or the chief."""
    if engine == MULTI_WORKER:
        return cluster.script(PROGRAMS[engine], workload.workers, say=say, **flags).records[0]
    if engine == PARAMETER_SERVER:
        with _servers(workload, say) as servers:
            servers.start("chief", 0, PROGRAMS[engine], **flags)
            servers.wait()
            return servers.watched()[0]
    np = 1 if engine == ONE else workload.workers
    return launch.script(PROGRAMS[engine], np, variables=OVER_TCP, say=say, **flags).records[0]


@contextmanager
def _servers(workload: Workload, say: Callable[[str], None] | None) -> Iterator[Cluster]:
    """Start the parameter server and the workers of a cluster; its chief is still to be started."""
    with Cluster(say, chief=1, ps=1, worker=workload.workers) as servers:
        for kind, index in servers.tasks:
            if kind != "chief":
                servers.start(kind, index, SERVER)
        yield servers


def summarise(record: Record, meter: Usage, workload: Workload, began: float) -> Measured:
    """Summarise a run.

    Args:
        record: of rank 0, worker 0 or the chief.
        meter: measured all processes of the run.
        workload: the training.
        began: when the run was started, in seconds since 1970.
    """
    steady = record.epochs[1:]  # TensorFlow traces its graphs in the first one
    used = [meter.used(epoch.start, epoch.train_end) for epoch in steady]
    seconds = [epoch.train_end - epoch.start for epoch in steady]
    return Measured(
        images_per_second=workload.steps * workload.global_batch / median(seconds),
        bytes_a_step=sum(received for _, received in used) / (workload.steps * len(steady)),
        cpu=sum(cpu for cpu, _ in used) / sum(seconds),
        accuracies=[(epoch.end - began, epoch.final_logs["val_accuracy"]) for epoch in record.epochs],
    )


def lose_a_process(engine: str, workload: Workload, say: Callable[[str], None] = print) -> list[Loss]:
    """Run the training on one engine, kill one of its processes by SIGKILL, and return the effect.

    If the training continues without a worker, the parameter server is killed later, with an entry of its own.

    Args:
        engine, workload, say: as for measure().

    Raises:
        launch.RunError: the training failed before a process was killed.
    """
    workload = replace(workload, epochs=KILLED_IN + 4)
    with tempfile.TemporaryDirectory(prefix="course-engine-") as logs:
        flags = workload.flags(engine) | {"log_dir": logs}
        if engine == MULTI_WORKER:
            return _lose_a_worker(workload, flags, say)
        if engine == PARAMETER_SERVER:
            return _lose_servers(workload, flags, say)
        np = 1 if engine == ONE else workload.workers
        flags |= {"variables": OVER_TCP, "say": say}
        failure = faults.kill_rank(PROGRAMS[engine], np, rank=np - 1, epoch=KILLED_IN, **flags)
    return [Loss(engine, "the process" if engine == ONE else f"rank {np - 1}", False, time.time() - failure.killed)]


def _lose_a_worker(workload: Workload, flags: dict[str, Any], say: Callable[[str], None]) -> list[Loss]:
    with Cluster(say, worker=workload.workers) as workers:
        started = [workers.start("worker", index, PROGRAMS[MULTI_WORKER], **flags) for index in range(workload.workers)]
        _await_mid_epoch(workers, started[0], KILLED_IN)
        workers.kill(started[-1])
        for worker in started:
            workers.await_end(worker)
        seconds = max(worker.ended for worker in started) - started[-1].ended
    return [Loss(MULTI_WORKER, started[-1].name, False, seconds)]


def _lose_servers(workload: Workload, flags: dict[str, Any], say: Callable[[str], None]) -> list[Loss]:
    """Kill a worker, and two epochs later the parameter server."""
    with _servers(workload, say) as servers:
        chief = servers.start("chief", 0, PROGRAMS[PARAMETER_SERVER], **flags)
        ps, worker = servers.tasks["ps", 0], servers.tasks["worker", workload.workers - 1]
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
    """Wait until the middle of an epoch, estimated from the duration of the one before."""
    of.await_line(reporter, lambda text: text.startswith(f"Epoch {epoch}/"))
    before, now = _epoch_starts(reporter)[epoch - 2 : epoch]
    time.sleep((now - before) / 2)


def _epoch_starts(reporter: cluster.Task) -> list[float]:
    return [when for when, text in reporter.lines if text.startswith("Epoch ")]
