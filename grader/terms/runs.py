"""The runs of a script as the judge reads them: ranks by topology, each with how it ended and its validated facts.

What the ranks sent is untrusted: facts of another shape count as not reported.
"""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

import msgspec

from grader.terms.facts import ARGUMENTS, Answer, Disk, EndedFor, Error, HorovodFacts, Ran, Result, TaskFacts, Testimony
from grader.terms.job import TaskType, Topology
from grader.terms.watched_facts import ElasticFacts, JobFacts, LaunchFacts

Facts = TypeVar("Facts", HorovodFacts, TaskFacts, LaunchFacts, JobFacts, ElasticFacts)

# What an error means, where a check has to know. Libraries say it in a class or, where an error crosses from C++, in a
# constant text. A rank's own error is looked at, and its standard error where it could not report any.
Cause = Literal[
    "shut down",
    "mismatch",
    "connection",
    "task taken",
    "port taken",
    "no file",
    "no steps",
    "store",
    "late strategy",
    "no checkpoint",
    "guarded",
]
CAUSES: tuple[tuple[Cause, str], ...] = (
    ("shut down", r"Horovod has been shut down"),  # a rank ended while this one waited in a collective
    ("mismatch", r"Mismatched"),  # ranks met in different collectives
    ("connection", r"HorovodInternalError|gloo|UnavailableError"),  # another process of the cluster is gone
    ("task taken", r"is already running here"),  # course.tf_config: two processes do the same task
    ("port taken", r"this process listens there already"),  # course.tf_config: a server of its own has the port
    ("no file", r"FileNotFoundError"),
    ("no steps", r"`steps_per_epoch`\. Received value is 0"),  # Keras', where a share is rounded down to nothing
    ("store", r"StoreError"),  # of course.store
    ("late strategy", r"Collective ops must be configured at program startup"),
    ("no checkpoint", r"(?i)no checkpoint"),
    ("guarded", r"AttributeError: A script (replaces|sets|looks) "),  # grader.sandboxed.by_text: no fault, perhaps
)


STEADY = 4000  # characters of an error that are looked through


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
    found: Disk = field(default_factory=Disk)  # its host's, before any rank of the topology began,
    left: Disk = field(default_factory=Disk)  # and once all had ended

    @property
    def where(self) -> str:
        """The rank and its topology, in words."""
        return f"{self.name} ({self.topology})"


@dataclass
class Runs(Generic[Facts]):
    """All ranks of every topology that was run."""

    topologies: dict[str, list[Rank[Facts]]]
    reserved: dict[str, list[Rank[Facts]]] = field(default_factory=dict)  # of those that one check alone judges
    traffic: int = 0  # bytes that ranks of topologies that are not reserved sent each other, as the host counts them
    testimony: Testimony | None = None  # of the witness, where a topology has one
    draw: int = 0  # the number of the run: see grader.checks.part

    def on(self, clusters: Collection[str]) -> "Runs[Facts]":
        """Return the runs on the topologies of these names alone."""
        topologies, reserved = (
            {name: ranks for name, ranks in of.items() if name in clusters} for of in (self.topologies, self.reserved)
        )
        return replace(self, topologies=topologies, reserved=reserved)

    def ranks(self) -> Iterator[Rank[Facts]]:
        """Yield every rank of the topologies that are not reserved."""
        return (rank for ranks in self.topologies.values() for rank in ranks)

    def all_ranks(self) -> Iterator[Rank[Facts]]:
        """Yield every rank, those of reserved topologies, too."""
        return (rank for ranks in itertools.chain(self.topologies.values(), self.reserved.values()) for rank in ranks)


HorovodRank = Rank[HorovodFacts]
HorovodRuns = Runs[HorovodFacts]
TaskRank = Rank[TaskFacts]
TaskRuns = Runs[TaskFacts]
LaunchRank = Rank[LaunchFacts]
LaunchRuns = Runs[LaunchFacts]
JobRank = Rank[JobFacts]
JobRuns = Runs[JobFacts]
ElasticRank = Rank[ElasticFacts]
ElasticRuns = Runs[ElasticFacts]


class GoneError(Exception):
    """The processes that a script ran in are gone, and left no answer."""


class BrokenError(Exception):
    """The supervisor failed, through no fault of the script's; the message says how."""


def read(ran: Ran, topologies: Sequence[Topology], kind: type[Facts]) -> Runs[Facts]:
    """Return the runs that left this, with facts of one kind; facts of another shape count as none.

    Raises:
        GoneError, BrokenError: it left no answer.
    """
    try:
        answered = json.loads(ran.answer)  # which has NaN, as JSON proper has not
    except ValueError:
        raise GoneError from None
    if "broken" in answered:
        raise BrokenError(answered["broken"])
    answer = msgspec.convert(answered, Answer)
    runs: Runs[Facts] = Runs({}, traffic=answer.traffic)
    if ran.testimony:
        runs.testimony = msgspec.json.decode(ran.testimony, type=Testimony)
    for topology in topologies:
        results = answer.topologies.get(topology.name)
        if results is not None:
            ranks = [
                _rank(number, topology, result, kind) for number, result in zip(topology.numbers, results, strict=False)
            ]
            for rank in ranks:
                rank.found = _disk(answer, topology.after, rank.host)
                rank.left = _disk(answer, topology.name, rank.host)
            if topology.tasks:  # a solution that does another task of the cluster is not judged
                ranks = [rank for rank in ranks if not topology.tasks[rank.number].program]
            (runs.reserved if topology.reserved else runs.topologies)[topology.name] = ranks
    return runs


def _disk(answer: Answer, topology: str | None, host: int) -> Disk:
    """Return what a host's disk held after a topology; an empty one where none was looked at."""
    disks = answer.disks.get(topology or "", [])
    return disks[host] if host < len(disks) else Disk()


def _rank(number: int, topology: Topology, result: Result, kind: type[Facts]) -> Rank[Facts]:
    rank = Rank(
        number=number,
        host=topology.place(number)[0],
        name="The script" if topology.watcher else _name(number, [task.type for task in topology.tasks]),
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
    """Return an error's text without what differs from run to run: nodes' names, values, ports, who was first."""

    def in_order(found: re.Match[str]) -> str:
        one, other = sorted((found[2], found[4]))
        return f"{found[1]}{one}, but another rank {found[3]}{other}."

    text = text[:STEADY]
    text = re.sub(r"\d+ root error\(s\) found\.\n *\(0\) (.*)[\s\S]*", r"\1\n", text)  # of several workers, maybe
    text = re.sub(r"\n?\s*\[\[{{.*?}}]]|{{.*?}} ?|(?<= object) at 0x[0-9a-f]+", "", text)
    text = re.sub(r"\barray\(\[[^()]*\)?", "array(…)", text)
    text = re.sub(r"(?<=127\.0\.0\.1):\d+", "", text)
    text = re.sub(r'(?m)^ *(Additional GRPC error information|:{"created":).*\n?', "", text)
    return re.sub(r"(One rank [^.]*? )(\[[^]]*]|\S+), but another rank ([^.]*? )(\[[^]]*]|\S+)\.", in_order, text)
