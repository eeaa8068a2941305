"""What a run is asked for: a script, the clusters that it runs on, and its arguments there.

The judge writes a job, the supervisor inside the sandbox reads it. Both use these types.
"""

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from course.internal import simulated_hosts

BATCH = 2  # images per rank and step
BASE_LR = 0.01  # of one process
LOGS = "left"  # --log-dir
CHECKPOINT = "checkpoint-"  # what the names of checkpoints begin with, as --checkpoint-format has it by default
CACHE = "copy"  # --cache-dir
IMAGES = "{images}"  # in an argument: the folder with the judge's own images, wherever the script can see it
SHIPPED = "{shipped}"  # in an argument: the folder with the course's own Fashion-MNIST, likewise
RANK = "{rank}"  # in an argument: the number of the rank
HOST = "{host}"  # in an argument: the folder that is the disk of the rank's host
NOWHERE = "-that-are-not-there"  # follows the name of the store's folder on a host that cannot reach the store

TaskType = Literal["chief", "worker", "ps", "evaluator"]


class TaskSpec(msgspec.Struct, frozen=True):
    """One task of a TF_CONFIG cluster: its type and, where that is not the script, the solution that does the task."""

    type: TaskType
    program: str | None = None  # in solutions/
    arguments: tuple[str, ...] = ()  # of that program; of the script, where they are not the topology's


class Folders(msgspec.Struct, frozen=True):
    """Folders whose files the recorder of a rank watches."""

    store: str  # that the data come from
    results: str  # where what is kept of a training goes
    logs: str
    cache: str = CACHE  # for the host's copy of the data


class Found(msgspec.Struct, frozen=True):
    """What a program finds in its hosts' folders for logs when it starts, besides what a run before has left there."""

    copies: tuple[tuple[int, int], ...]  # on rank 0's host, of checkpoints: after how many epochs, and named after
    leftovers: tuple[int, ...]  # on other hosts, files named like the checkpoints after so many epochs, of another run


class Witness(msgspec.Struct, frozen=True):
    """The rank of a cluster that is the course's own: see grader.witness."""

    rank: int
    first: int = 1  # the epoch, or the one after it, in which the mean of the metrics reaches the target


class Topology(msgspec.Struct, frozen=True):
    """A cluster that a script runs on.

    Without tasks: simulated hosts, each with slots for ranks, with GPUs and with a folder of its own, for Horovod.
    With tasks: processes that TF_CONFIG describes, one per slot, with one folder for all.
    """

    name: str
    description: str
    hosts: int
    slots: int  # ranks per host
    gpus: int  # per host
    arguments: tuple[str, ...] = ()
    after: str | None = None  # the topology that ran before, in the same folders
    reserved: bool = False  # judged by one check only, which knows how it has to end
    tasks: tuple[TaskSpec, ...] = ()
    dies: tuple[int, int] | None = None  # the task that is killed, and after how many batches
    misplaced: bool = False  # the tasks are not the script's, which has to end; it is stopped where it starts to work
    folders: Folders | None = None  # to watch
    found: Found | None = None  # in those for logs
    unreached: int | None = None  # the host that cannot reach the store: see NOWHERE
    digits: int = 4  # of the mean colours by which the images of a batch are recognised
    witness: Witness | None = None
    learns: bool = False  # from weights that the judge draws, so that the accuracy reached is no matter of luck
    reference: bool = False  # the solution alone runs on it, for a script's runs to be compared with
    on_first: int | None = None  # ranks on the first host, where they are fewer
    watcher: str | None = None  # the module of grader.watchers that makes real hosts of it, and watches a script there

    @property
    def size(self) -> int:
        """The number of ranks, or of tasks."""
        return self.hosts * self.slots - (self.slots - self.on_first if self.on_first else 0)

    @property
    def layout(self) -> tuple[int, int, int | None]:
        """How many hosts, ranks per host and ranks on the first host there are: see course.internal.simulated_hosts."""
        return self.hosts, self.slots, self.on_first

    def place(self, number: int) -> tuple[int, int]:
        """Return the number of a rank's host, and its local rank there."""
        return simulated_hosts.place(number, self.slots, self.on_first)

    @property
    def numbers(self) -> list[int]:
        """The ranks, or tasks, that are not a witness."""
        if self.watcher:
            return [0]  # the script itself, whatever it starts
        return [number for number in range(self.size) if not (self.witness and self.witness.rank == number)]

    @property
    def served(self) -> bool:
        """Whether the cluster has parameter servers: they and their workers never end by themselves."""
        return any(task.type == "ps" for task in self.tasks)


@dataclass(frozen=True)
class Place:
    """Where a forked process is to be a rank."""

    number: int  # of the rank
    topology: Topology
    script: Path  # below the folder of the topology
    board: mmap.mmap  # shared with the supervisor, to show the collective that the rank is in
    facts: int  # the pipe for the rank's facts
    orders: int  # the pipe from which its environment comes, as JSON; nothing comes where the job has ended
    link: int | None  # the socket to a witness, if the topology has one


class Order(msgspec.Struct, frozen=True):
    """What the fork server is asked to fork for."""

    sandbox: int | None  # the process to enter the submission's sandbox by; None where there is none
    other: int | None  # the process to enter a witness's sandbox by
    witnessed: Topology | None  # that the witness is a rank of, if one is wanted


# What ranks of Horovod do together, as its library calls it.
COLLECTIVES = (
    *("allreduce", "grouped_allreduce", "allgather", "grouped_allgather", "broadcast", "broadcast_inplace"),
    *("broadcast_inplace_resource", "alltoall", "reducescatter", "grouped_reducescatter", "join"),
)


class Job(msgspec.Struct):
    """A script to run on topologies, one after another where there are too few cores for all."""

    script: str  # its text
    name: str  # of its file
    folder: str  # to work in
    seconds: float  # time limit for all topologies together
    topologies: tuple[Topology, ...]
    programs: dict[str, str]  # file name -> text of the solutions that do tasks in place of the script


class Watch(msgspec.Struct):
    """A script to run on hosts, and which watcher is to make and disturb them."""

    watcher: str  # a module of grader.watchers
    scenario: str  # the name of the topology
    name: str  # of the script's file, which is in the job's folder


def flags(**values: object) -> tuple[str, ...]:
    """Return a program's arguments: batch_size=2 becomes --batch-size 2."""
    return tuple(part for name, value in values.items() for part in (f"--{name.replace('_', '-')}", str(value)))


def side_by_side(topologies: Sequence[Topology]) -> list[list[str]]:
    """Return which topologies run side by side: all, if each rank has a core, and otherwise each by itself.

    Ranks that share a core evict each other's data from its caches, and all of them take longer. The one rank of a
    topology with a witness has the core that another topology leaves idle.
    """
    cores = len(os.sched_getaffinity(0))
    if cores < sum(topology.size for topology in topologies):
        turns = {topology: [topology.name] for topology in topologies if not topology.witness}
        for topology in topologies:
            if topology.witness:
                other = max(turns, key=lambda other: -other.size % cores, default=topology)
                turns.setdefault(other, []).append(topology.name)
        return list(turns.values())
    sides = [[topology.name for topology in topologies if bool(topology.after) == later] for later in (False, True)]
    return [turn for turn in sides if turn]
