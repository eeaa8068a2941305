"""What a run leaves behind: one definition for the process that writes it and the one that validates it.

The recorders in grader.sandboxed fill in HorovodFacts or TaskFacts. They run in the process of the script, so all that
they send is untrusted: read() validates it, and facts of another shape count as not reported.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from grader.job import TaskType, Topology

Projection = Annotated[list[float], Meta(max_length=16)]  # of tensors: see grader.sandboxed.recorder
Integers = Annotated[list[int], Meta(max_length=16)]
EndedFor = Literal["time", "output", "memory", "others", "stall"]


class Error(Struct, forbid_unknown_fields=True):
    """An exception that ended a script."""

    kind: str  # its class, or ARGUMENTS
    message: str
    line: int | None  # of the script
    traceback: str  # without frames of ours


ARGUMENTS = "arguments"  # the kind of error of a script whose argparse refuses its arguments


# --- What a rank of Horovod reports -----------------------------------------------------------------------------------


class State(Struct, forbid_unknown_fields=True):
    """What a checkpoint has to restore."""

    weights: Projection
    slots: Projection  # the optimizer's
    iterations: int
    variables: list[str]  # names of the optimizer's


class Batch(Struct, forbid_unknown_fields=True):
    """One training step. Weights and gradients are projections; None where they were never seen."""

    rate: float
    before: Projection | None
    local: Projection | None  # the gradients that this rank computed by itself
    updated: Projection  # weights as the optimizer left them
    after: Projection | None = None  # weights as the script's callbacks left them
    slots: Projection | None = None


class Epoch(Struct, forbid_unknown_fields=True):
    """One epoch."""

    steps: int = 0
    validation_steps: int = 0
    own: dict[str, float] = {}  # this rank's metrics, before any callback saw them
    images: list[str] = []  # trained on, by their mean colours
    validation_images: list[str] = []


class Fit(Struct, forbid_unknown_fields=True):
    """One call of model.fit."""

    verbose: int | bool | str
    optimizer: dict[str, float | int | bool | str]  # its kind and settings
    callbacks: list[str]  # the classes of the script's own
    loss_weights: list[float]
    steps_per_epoch: int | None
    log_dirs: list[str]  # of TensorBoard callbacks
    weights_built: Projection  # as the model was built
    initial_epoch: int
    begin: State
    batches: list[Batch] = []
    epochs: list[Epoch] = []
    reads: list[tuple[int, str, str, float]] = []  # epoch, callback, metric, value
    end: State | None = None
    schedule: dict[str, float] = {}  # epoch -> the rate that the script's schedulers would set


class Files(Struct, forbid_unknown_fields=True):
    """What a rank opened, and what its host's folders hold at the end."""

    copied: int  # files of the store that were read before training
    read_in_training: int
    results_written: int
    wrote_checkpoints: int
    left: list[str]  # names of the files in --log-dir
    kept: list[str]  # names of the files at --train-url
    overwritten: list[str]  # names of those in --log-dir that were written under their final name


class HorovodFacts(Struct, forbid_unknown_fields=True):
    """What a rank of Horovod did."""

    order: list[str] = []  # "init", "model", "fit": each as it first happened
    lines: dict[str, int] = {}  # what -> the line of the script that did it
    gpus: Integers = []  # visible when the script builds its model
    memory_growth: Integers = []  # GPUs
    fits: Annotated[list[Fit], Meta(max_length=50)] = []
    files: Files | None = None
    error: Error | None = None


# --- What a task of a TF_CONFIG cluster reports -----------------------------------------------------------------------


class Progress(Struct, forbid_unknown_fields=True):
    """What has to be equal on all workers."""

    weights: Projection
    iterations: int


class Writer(Struct, forbid_unknown_fields=True):
    """A callback, and where it writes."""

    kind: str
    path: str | None


class TaskFit(Struct, forbid_unknown_fields=True):
    """One call of model.fit under a strategy."""

    strategy: str  # its class
    replicas: int
    callbacks: list[Writer]
    steps_per_epoch: int | None
    in_parts: Annotated[list[Integers], Meta(max_length=1000)]  # variables kept in parts: their number, first shape
    places: list[str]  # kinds of tasks that hold the model's variables
    images: list[Annotated[list[int], Meta(max_length=64)]] = []  # of each training batch
    validation_images: list[Annotated[list[int], Meta(max_length=64)]] = []
    epochs: list[int] = []  # the training steps of each
    begin: Progress | None = None
    end: Progress | None = None


class Checkpoint(Struct, forbid_unknown_fields=True):
    """A checkpoint that a training left."""

    number: int
    weights: Projection


class TaskFacts(Struct, forbid_unknown_fields=True):
    """What a task of a TF_CONFIG cluster did."""

    order: list[str] = []  # "strategy", "model", "fit", "evaluate": each as it first happened
    lines: dict[str, int] = {}  # what -> the line of the script that did it
    gpus: Integers = []  # visible when the script makes its strategy
    strategies: list[tuple[str, int]] = []  # the class of each, and its number of replicas
    fits: Annotated[list[TaskFit], Meta(max_length=50)] = []
    saved: list[str] = []  # the paths that the script itself saved models to
    evaluations: Annotated[list[Projection], Meta(max_length=1000)] = []  # the weights that were evaluated
    newest: Checkpoint | None = None  # the newest one at the end
    logs: list[str] = []  # the files for TensorBoard that this process wrote
    error: Error | None = None


# --- What the supervisor answers --------------------------------------------------------------------------------------


class Result(Struct):
    """How one rank ended, as seen from outside, with the facts that it sent."""

    exit: int  # status, or minus the signal's number
    ended_for: EndedFor | None  # why it had to be ended
    collective: str  # that it was in when it ended, or ""
    stdout: str
    stderr: str
    facts: object  # untrusted


class Answer(Struct):
    """The results of every topology that was run, by rank, and what the ranks sent each other."""

    topologies: dict[str, list[Result]]
    traffic: int  # bytes over the loopback, as the kernel counts them


# --- What the judge reads ---------------------------------------------------------------------------------------------

Facts = TypeVar("Facts", HorovodFacts, TaskFacts)

# What an error means, where a check has to know. Libraries say it in a class or, where an error crosses from C++, in a
# constant text. A rank's own error is looked at, and its standard error where it could not report any.
Cause = Literal[
    "shut down", "mismatch", "connection", "task taken", "no file", "store", "late strategy", "no checkpoint"
]
CAUSES: tuple[tuple[Cause, str], ...] = (
    ("shut down", r"Horovod has been shut down"),  # a rank ended while this one waited in a collective
    ("mismatch", r"Mismatched"),  # ranks met in different collectives
    ("connection", r"HorovodInternalError|gloo|UnavailableError"),  # another process of the cluster is gone
    ("task taken", r"is already running here"),  # course.tf_config: two processes do the same task
    ("no file", r"FileNotFoundError"),
    ("store", r"StoreError"),  # of course.store
    ("late strategy", r"Collective ops must be configured at program startup"),
    ("no checkpoint", r"(?i)no checkpoint"),
)


@dataclass
class Rank(Generic[Facts]):
    """One rank, or one task: what was seen from outside, and the facts that it reported."""

    number: int
    host: int
    name: str  # "Rank 1", or the task: "Worker 1"
    topology: str  # in words
    exit: int  # status, or minus the signal's number
    ended_for: EndedFor | None  # why it had to be ended
    collective: str  # that it was in when it ended, or ""
    stdout: str
    stderr: str
    facts: Facts
    reported: bool = False  # whether facts came, in the right shape
    error: str | None = None  # that ended the script, in a line
    error_kind: str | None = None  # its class, or ARGUMENTS
    error_line: int | None = None
    traceback: str = ""
    causes: frozenset[Cause] = frozenset()

    @property
    def where(self) -> str:
        """The rank and its topology, in words."""
        return f"{self.name} ({self.topology})"


@dataclass
class Runs(Generic[Facts]):
    """All ranks of every topology that was run."""

    topologies: dict[str, list[Rank[Facts]]]
    reserved: dict[str, list[Rank[Facts]]] = field(default_factory=dict)  # of those that one check alone judges
    traffic: int = 0  # bytes that all of them sent each other, as the host counts them

    def ranks(self) -> Iterator[Rank[Facts]]:
        """Yield every rank of the topologies that are not reserved."""
        return (rank for ranks in self.topologies.values() for rank in ranks)


HorovodRank = Rank[HorovodFacts]
HorovodRuns = Runs[HorovodFacts]
TaskRank = Rank[TaskFacts]
TaskRuns = Runs[TaskFacts]


def read(answer: Answer, topologies: Sequence[Topology], kind: type[Facts]) -> Runs[Facts]:
    """Return the runs in a supervisor's answer, with facts of one kind; facts of another shape count as none."""
    runs: Runs[Facts] = Runs({}, traffic=answer.traffic)
    for topology in topologies:
        results = answer.topologies.get(topology.name)
        if results is not None:
            ranks = [_rank(number, topology, result, kind) for number, result in enumerate(results)]
            if topology.tasks:  # a solution that does another task of the cluster is not judged
                ranks = [rank for rank in ranks if not topology.tasks[rank.number].program]
            (runs.reserved if topology.reserved else runs.topologies)[topology.name] = ranks
    return runs


def _rank(number: int, topology: Topology, result: Result, kind: type[Facts]) -> Rank[Facts]:
    rank = Rank(
        number=number,
        host=number // topology.slots,
        name=_name(number, [task.type for task in topology.tasks]),
        topology=topology.description,
        exit=result.exit,
        ended_for=result.ended_for,
        collective=result.collective,
        stdout=result.stdout,
        stderr=result.stderr,
        facts=kind(),
    )
    if isinstance(result.facts, dict) and result.facts.keys() == set(kind.__struct_fields__):
        try:
            rank.facts = msgspec.convert(result.facts, kind)
            rank.reported = True
        except (msgspec.ValidationError, RecursionError):
            pass
    if rank.facts.error:
        _describe(rank, rank.facts.error)
    text = rank.error or rank.stderr
    rank.causes = frozenset(cause for cause, pattern in CAUSES if re.search(pattern, text))
    return rank


def _describe(rank: Rank[Facts], error: Error) -> None:
    """Put a rank's error into words."""
    rank.error_kind, rank.error_line = error.kind, error.line
    if error.kind == ARGUMENTS:
        rank.error = f"the program's arguments are not accepted any more: {error.message}"
    elif error.kind != "SystemExit":
        rank.error = f"{error.kind}: {_steady(error.message)}"
    elif re.fullmatch(r"\d*", error.message):
        rank.error = f"it exits with status {error.message}"
    else:
        rank.error = error.message
    rank.error = rank.error[:500]
    rank.traceback = _steady(error.traceback)


def _name(number: int, types: list[TaskType]) -> str:
    if not types:
        return f"Rank {number}"
    name = types[number].capitalize()
    return name if types.count(types[number]) == 1 else f"{name} {types[:number].count(types[number])}"


def _steady(text: str) -> str:
    """Return an error's text without what differs from run to run: names of TensorFlow's nodes, who was first."""

    def in_order(found: re.Match[str]) -> str:
        one, other = sorted((found[2], found[4]))
        return f"{found[1]}{one}, but another rank {found[3]}{other}."

    text = re.sub(r"{{.*?}} ?", "", text)
    text = re.sub(r'(?m)^ *File ".*", line \d+, in .*\n+', "", text)  # TensorFlow tells where each node was made
    return re.sub(r"(One rank [^.]*? )(\[[^]]*]|\S+), but another rank ([^.]*? )(\[[^]]*]|\S+)\.", in_order, text)
