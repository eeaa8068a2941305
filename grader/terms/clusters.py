"""The clusters that a script runs on, each with what happens to a training there."""

from typing import Any, Literal, TypeVar

from msgspec import Struct, structs

from course.internal import simulated_hosts

BATCH = 2  # images per rank and step
BASE_LR = 0.01  # of one process
LOGS = "left"  # --log-dir
CHECKPOINT = "checkpoint-"  # what the names of checkpoints begin with, as --checkpoint-format has it by default
CACHE = "copy"  # --cache-dir
IMAGES = "{images}"  # in an argument: the folder with the judge's own images, wherever the script can see it
SHIPPED = "{shipped}"  # in an argument: the folder with the course's own Fashion-MNIST, likewise
HOST = "{host}"  # in an argument: the folder that is the disk of the rank's host
MISSING = "-missing"  # follows the name of the store's folder on a host that cannot reach the store

# The judge's synthetic data, which grader.runner.synthetic_data makes. Training images in the files of Fashion-MNIST:
# step 13's program holds out a sixth, which leaves 12 batches for two workers and 8 for three, and a remainder.
FASHION_MNIST = 60
# Images in folders. For two ranks no share comes out even, and for three only that of the validation. On two hosts a
# share has more batches in training than in validation.
CLASSES, TRAIN_IMAGES, VAL_IMAGES = 6, 13, 9

TaskType = Literal["chief", "worker", "ps", "evaluator"]


class TaskSpec(Struct, frozen=True):
    """One task of a TF_CONFIG cluster: its type and, where that is not the script, the solution that does the task."""

    type: TaskType
    program: str | None = None  # in solutions/
    arguments: tuple[str, ...] = ()  # of that program; of the script, where they are not the cluster's


class Folders(Struct, frozen=True):
    """Folders whose files the recorder of a rank watches."""

    store: str  # that the data come from
    results: str  # where the results of a training are kept
    logs: str
    cache: str = CACHE  # for the host's copy of the data
    unreached: int | None = None  # the host that cannot reach the store


class Found(Struct, frozen=True):
    """What a program finds in its hosts' folders for logs when it starts, besides what the run before has left."""

    copies: tuple[tuple[int, int], ...]  # on rank 0's host, of checkpoints: after how many epochs, and named after
    leftovers: tuple[int, ...]  # on other hosts, files named like the checkpoints after so many epochs, of another run


class Cluster(Struct, frozen=True, tag=True):
    """Hosts with ranks on which a script runs: one of the types below.

    Without tasks: simulated hosts, each with slots for ranks, with GPUs and with a folder of its own, for Horovod.
    With tasks: processes that TF_CONFIG describes, one per slot, with one folder for all.
    """

    name: str
    description: str
    hosts: int
    slots: int  # ranks per host
    gpus: int  # per host
    arguments: tuple[str, ...] = ()
    tasks: tuple[TaskSpec, ...] = ()
    on_first: int | None = None  # ranks on the first host, where they are fewer
    reserved: bool = False  # judged by one check only, which knows how it has to end
    folders: Folders | None = None  # to watch
    learns: bool = False  # from weights that the judge draws, so that the accuracy reached is no matter of luck

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
    def has_servers(self) -> bool:
        """Whether the cluster has parameter servers: they and their workers never end by themselves."""
        return any(task.type == "ps" for task in self.tasks)

    @property
    def folder(self) -> str:
        """The name of the folder in which its hosts have their disks."""
        return self.name


class Fresh(Cluster, frozen=True):
    """A training that begins, and that nothing happens to."""


class Resumed(Cluster, frozen=True):
    """A training that is started again, in the folders of the cluster that it was started on before."""

    after: str = ""  # the name of that cluster
    found: Found | None = None

    @property
    def folder(self) -> str:
        """That of the cluster before."""
        return self.after


class Killed(Cluster, frozen=True):
    """A training of which one task is killed."""

    task: int = 0
    batches: int = 1  # after which it is killed


class Refused(Cluster, frozen=True):
    """A place where a script is stopped when it starts to work: too few GPUs, or tasks that are not its own.

    A rank starts to work when it has built a model.
    """


class Watched(Cluster, frozen=True):
    """Hosts that a watcher makes and disturbs: one process, the script itself, whatever it starts there."""

    watcher: str = ""  # a module of grader.watchers


AnyCluster = Fresh | Resumed | Killed | Refused | Watched
Kind = TypeVar("Kind", Fresh, Resumed, Killed, Refused, Watched)
_COMMON = {field.name for field in structs.fields(Cluster)}


def changed(cluster: Cluster, kind: type[Kind], **changes: Any) -> Kind:
    """Return a cluster of another kind, with what both kinds have in common, and these changes."""
    common = {name: value for name, value in structs.asdict(cluster).items() if name in _COMMON}
    return kind(**{**common, **changes})


def flags(**values: object) -> tuple[str, ...]:
    """Return a program's arguments: batch_size=2 becomes --batch-size 2."""
    return tuple(part for name, value in values.items() for part in (f"--{name.replace('_', '-')}", str(value)))
