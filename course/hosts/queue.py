"""What happens to a job of Slurm over time: when it runs on which nodes, and what is done to it meanwhile."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from course.hosts.cluster import HostsError
from course.hosts.layout import HEAD
from course.hosts.slurm import PATIENCE, Job, Slurm


@dataclass(frozen=True)
class Stretch:
    """A time in which a job was in one state on the same nodes.

    Attributes:
        began, ended: seconds since the job was submitted.
        state: the job's.
        nodes: the names of the nodes that it had.
    """

    began: float
    ended: float
    state: str
    nodes: tuple[str, ...]


@dataclass
class History:
    """A job from its submission on.

    Attributes:
        scheduler: Slurm.
        number: the job's.
        output: the path of its output file, as the head sees it.
        stretches: what it has done so far.
        events: what was done to it, by seconds since its submission.
    """

    scheduler: Slurm
    number: int
    output: str
    stretches: list[Stretch] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    def until(self, what: Callable[[Job], bool], timeout: float = PATIENCE) -> Job:
        """Follow the job until something is true of it, print each change of its state, and return the job.

        Raises:
            HostsError: it is not true after so many seconds; the message has what the job printed.
        """
        end = self.seconds() + timeout
        while True:
            job = self.scheduler.job(self.number)
            self._note(job)
            if what(job):
                return job
            if self.seconds() > end:
                raise HostsError(f"Job {self.number} is {job.state} after {timeout:.0f} s:\n{self.printed()}")
            time.sleep(0.3)

    def until_printed(self, pattern: str, timeout: float = PATIENCE) -> None:
        """Follow the job until a line of its output matches a pattern.

        Raises:
            HostsError: there is none after so many seconds; the message has what the job printed.
        """
        self.until(lambda job: re.search(pattern, self.printed()) is not None, timeout)

    def event(self, what: str) -> None:
        """Note what is done to the job now, and print it."""
        self.events.append((self.seconds(), what))
        print(f"{self.seconds():5.1f} s  {what}")

    def printed(self) -> str:
        """Return what the job has printed so far."""
        path = self.scheduler.cluster.seen_from_outside(HEAD, Path(self.output))
        return path.read_text() if path.exists() else ""

    def seconds(self) -> float:
        """Return how long ago the job was submitted."""
        return time.monotonic() - self._began

    def _note(self, job: Job) -> None:
        """Lengthen the last stretch, or begin another one."""
        now = self.seconds()
        last = self.stretches[-1] if self.stretches else None
        nodes = self.scheduler.names(job.nodes) if job.nodes else ()
        began = last.ended if last else 0.0
        if last and (last.state, last.nodes) == (job.state, nodes):
            self.stretches.pop()
            began = last.began
        elif job.state in ("PENDING", "RUNNING"):
            print(f"{now:5.1f} s  {job.state}" + (f" on {', '.join(nodes)}" if nodes else ""))
        self.stretches.append(Stretch(began, now, job.state, nodes))
