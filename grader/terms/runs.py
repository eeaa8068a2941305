"""The runs of a script as checks see them: ranks by cluster, each with how it ended and its validated facts."""

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar

from grader.terms.facts import Disk, EndedFor, HorovodFacts, NoFacts, TaskFacts
from grader.terms.watched_facts import AllreduceFacts, ElasticFacts, FasterFacts, JobFacts, LaunchFacts, PredictionFacts

Facts = TypeVar(
    "Facts",
    HorovodFacts,
    TaskFacts,
    LaunchFacts,
    JobFacts,
    ElasticFacts,
    AllreduceFacts,
    PredictionFacts,
    FasterFacts,
    NoFacts,
)

# What an error means, where a check has to know.
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
    "late GPU",
    "no CPU",
    "locked",
    "no checkpoint",
]


@dataclass
class Rank(Generic[Facts]):
    """One rank, or one task: what was seen from outside, and the facts that it reported."""

    number: int
    host: int
    name: str  # "Rank 1", or the task: "Worker 1"
    cluster: str  # in words
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
    found: Disk = field(default_factory=Disk)  # its host's, before any rank of the cluster began,
    left: Disk = field(default_factory=Disk)  # and once all had ended

    @property
    def where(self) -> str:
        """The rank and its cluster, in words."""
        return f"{self.name} ({self.cluster})"


@dataclass
class Runs(Generic[Facts]):
    """All ranks of every cluster that a script was run on."""

    clusters: dict[str, list[Rank[Facts]]]  # by name
    reserved: dict[str, list[Rank[Facts]]] = field(default_factory=dict)  # of those that one check alone judges
    traffic: int = 0  # bytes that ranks of clusters that are not reserved sent each other, as the host counts them

    def on(self, names: Collection[str]) -> "Runs[Facts]":
        """Return the runs on the clusters of these names alone."""
        clusters, reserved = (
            {name: ranks for name, ranks in of.items() if name in names} for of in (self.clusters, self.reserved)
        )
        return replace(self, clusters=clusters, reserved=reserved)

    def ranks(self) -> Iterator[Rank[Facts]]:
        """Yield every rank of the clusters that are not reserved."""
        return (rank for ranks in self.clusters.values() for rank in ranks)

    def all_ranks(self) -> Iterator[Rank[Facts]]:
        """Yield every rank, those of reserved clusters, too."""
        return (rank for ranks in itertools.chain(self.clusters.values(), self.reserved.values()) for rank in ranks)


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
AllreduceRank = Rank[AllreduceFacts]
AllreduceRuns = Runs[AllreduceFacts]
PredictionRank = Rank[PredictionFacts]
PredictionRuns = Runs[PredictionFacts]
FasterRank = Rank[FasterFacts]
FasterRuns = Runs[FasterFacts]
