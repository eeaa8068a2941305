"""What the judge asks of its processes, and what they answer: a job for the fork server, and the messages that follow.

The judge writes a Job. The supervisor inside the sandbox reads it, and answers with messages: any number of
TurnBegan and Extended, and one Answer, or Broken. All that comes from there is untrusted.
"""

import mmap
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from grader.terms.clusters import AnyCluster
from grader.terms.facts import Disk, EndedFor


class Job(Struct):
    """A script to run on clusters, one after another where there are too few cores for all."""

    script: str  # its text
    name: str  # of its file
    folder: str  # to work in
    seconds: float  # time limit for all clusters together
    clusters: tuple[AnyCluster, ...]
    programs: dict[str, str]  # file name -> text of the solutions that do tasks in place of the script
    sandboxed: bool  # whether all processes that the supervisor can see are those of this job


class WatchJob(Struct):
    """A script to run on hosts, and which watcher is to make and disturb them."""

    watcher: str  # a module of grader.watchers
    situation: str  # one of that module's
    name: str  # of the script's file, which is in the job's folder


@dataclass(frozen=True)
class Place:
    """Where a forked process is to be a rank."""

    number: int  # of the rank
    cluster: AnyCluster
    script: Path  # below the folder of the cluster
    shared: mmap.mmap  # with the supervisor: memory that shows the collective that the rank is in
    facts: int  # the pipe for the rank's Reported
    orders: int  # the pipe from which its environment comes, as JSON; it closes when the rank may end


class Reported(Struct):
    """What a rank sends the supervisor, once."""

    failed: bool  # whether an error ended its script
    facts: bytes  # HorovodFacts or TaskFacts, as msgpack, which has NaN: weights may hold it


class Result(Struct):
    """How one rank ended, as seen from outside, with the facts that it sent."""

    exit: int  # status, or minus the signal's number
    ended_for: EndedFor | None  # why it had to be ended
    collective: str  # that it was in when it ended, or ""
    stdout: str
    stderr: str
    facts: bytes  # as msgpack, untrusted; empty where none came


class TurnBegan(Struct, tag=True):
    """The script starts on these clusters, side by side."""

    clusters: str  # in words


class Extended(Struct, tag=True):
    """The answer may take a second more: other processes kept the cores from the ranks."""


class Answer(Struct, tag=True):
    """The results of every cluster that was run, by rank, and what was seen of them from outside."""

    clusters: dict[str, list[Result]]
    # Bytes over the loopback, as the kernel counts them, while clusters ran that are not reserved; 0 without a sandbox.
    traffic: int
    disks: dict[str, list[Disk]] = {}  # of the hosts of each cluster, when its ranks had ended
    out_of_memory: bool = False  # whether the kernel ended a process of the machine meanwhile, for want of memory


class Broken(Struct, tag=True):
    """The supervisor failed, through no fault of the script's."""

    why: str


Message = TurnBegan | Extended | Answer | Broken
