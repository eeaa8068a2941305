"""Watches a launch script: what it starts on which host, what the ranks are given, and how it ends.

All of it is seen from outside: processes by the hosts' process namespaces, files by their mounts, bytes by the
counters of their interfaces. What the script prints is searched for names of hosts only.
"""

import contextlib
import os
import re
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from course import hosts
from course.hosts.cluster import Cluster
from course.internal.reaper import Reaped
from grader.terms.facts import EndedFor
from grader.terms.job import Result
from grader.terms.watched_facts import Launched, LaunchFacts
from grader.watchers import mpi_program
from grader.watchers.clock import Clock

VARIABLES = {"RUN": "a run", "SEED": "7"}
SEEN = "seen"  # the ranks' folder below the shared one
LATEST = 30  # seconds that a script may take to notice that a host is gone
DISK = "32m"  # less than a file may have: a full one is a file
OUTPUT = 20_000  # characters kept of what a script prints
FLOOD = 500_000  # bytes that no script prints
LEFT = 5  # seconds after the end of the script in which what it has started may end
SETTLED = 3  # seconds after the first rank until the others are there, too
PULSE = 0.05  # seconds between looks


@dataclass(frozen=True)
class Scenario:
    """Hosts, and what happens to them.

    Attributes:
        slots: of each host, in the order of the hostfile.
        order: what the ranks do when all are up: see grader.watchers.mpi_rank. Without one, no rank is waited for.
        network: that tensors are to be exchanged over.
        fault: what is done to a host: a method of Cluster. With an order, when all ranks are up.
        hit: the place of that host among the hosts.
    """

    slots: dict[str, int]
    order: str | None = "end"
    network: str = "10.77.0.0/24"
    fault: str | None = None
    hit: int = -1

    @property
    def disturbed(self) -> str:
        """The host that something is done to."""
        return list(self.slots)[self.hit]


SCENARIOS = {
    "uneven": Scenario({"zoe": 1, "adam": 3}),
    "failing": Scenario({"kim": 1, "lee": 1}, "fail", "10.78.0.0/24"),
    "unshared": Scenario({"otto": 1, "ida": 2}, None, fault="hide_shared"),
    "full": Scenario({"hal": 1, "sue": 1}, None, fault="fill_disk"),
    # A script that names one of them without looking is right once.
    "cut": Scenario({"ben": 1, "eva": 1}, "wait", fault="pull_cable"),
    "cut_first": Scenario({"sam": 1, "pia": 1}, "wait", fault="pull_cable", hit=0),
}


def watch(name: str, script: Path, clock: Path) -> Result:
    """Run a launch script in a scenario, and return how it ended, with LaunchFacts.

    Args:
        name: of the scenario.
        script: the file.
        clock: see grader.watchers.clock.
    """
    scenario = SCENARIOS[name]
    with hosts.up(list(scenario.slots), slots=list(scenario.slots.values()), disk=DISK) as cluster:
        watched = _Watched(cluster, scenario, script, clock)
        if scenario.fault and not scenario.order:
            watched.disturb()
        watched.start()
        watched.until_up()
        if scenario.order and not watched.over:
            if scenario.fault:
                watched.disturb()
            watched.order(scenario.order)
        return watched.until_end()


class _Watched:
    """A launch script that runs, and what was seen of it."""

    def __init__(self, cluster: Cluster, scenario: Scenario, script: Path, clock: Path):
        self.cluster, self.scenario, self.script, self.clock = cluster, scenario, script, clock
        self.ranks: dict[int, Launched] = {}  # by process
        self.facts = LaunchFacts()
        self.printed = b""
        self.disturbed = 0.0  # when
        self.told = 0  # bytes printed until then
        self.ended_for: EndedFor | None = None
        mpi_program.provide(cluster, SEEN)
        lines = [f"{host}   slots={number}  # {number} to start here" for host, number in scenario.slots.items()]
        (cluster.shared / "hostfile").write_text("\n".join(["# the hosts of this job", "", *lines, ""]))
        self.before = mpi_program.received(cluster, scenario.slots)

    def start(self) -> None:
        """Start the script on the head, and read what it prints."""
        variables = VARIABLES | {"DATA": str(mpi_program.DATA), "DATA_NETWORK": self.scenario.network}
        checked = subprocess.run(["bash", "-n", str(self.script)], capture_output=True, text=True, check=False)
        self.facts.syntax = checked.stderr.replace(str(self.script), self.script.name)[:1000]
        self.process: Reaped = self.cluster.start(
            ["bash", str(self.script), "/shared/hostfile", *mpi_program.command(SEEN)], variables=variables
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        while piece := os.read(self.process.output.fileno(), 65536):
            self.printed += piece
            if len(self.printed) > FLOOD:
                self.ended_for = "output"
                return

    @property
    def over(self) -> bool:
        """Whether the script and all that it keeps on the head have ended."""
        return not self.reader.is_alive()

    def until_up(self) -> None:
        """Look at the hosts until as many ranks as there are slots have exchanged data, or none more can come."""
        clock = Clock(self.clock, mpi_program.PATIENCE)
        began = 0.0  # when the first rank was seen
        while not self.over and clock.runs():
            self._look()
            if self.ranks and not self.scenario.order:  # not with data that are missing: so wait for all of them
                began = began or clock.seconds
                if clock.seconds > began + SETTLED:
                    self.order("end")
                    return
            elif self.scenario.order and (number := mpi_program.ready(self.cluster, SEEN)):
                self.facts.met = number == sum(self.scenario.slots.values())
                return
            time.sleep(PULSE)

    def order(self, what: str) -> None:
        """Tell the ranks how to continue."""
        mpi_program.order(self.cluster, SEEN, what)

    def disturb(self) -> None:
        """Do to a host what the scenario says."""
        self.told, self.disturbed = len(self.printed), time.monotonic()
        assert self.scenario.fault
        getattr(self.cluster, self.scenario.fault)(self.scenario.disturbed)

    def until_end(self) -> Result:
        """Wait until the script has ended, or end it, and return how it did and what was seen."""
        clock = Clock(self.clock, LATEST if self.scenario.fault else mpi_program.PATIENCE)
        while not self.over and clock.runs():
            self.reader.join(PULSE)
        seconds = time.monotonic() - self.disturbed
        if not self.over:
            self.ended_for = "time"
        if self.ended_for:
            self.process.end()
        elif self.disturbed:
            self.facts.seconds = round(seconds, 1)
        status = self.process.wait()
        self.facts.received = dict(mpi_program.received(self.cluster, self.scenario.slots) - self.before)
        self.facts.left = [] if self.ended_for else self._left()
        self.facts.ranks = list(self.ranks.values())
        printed = self.printed[self.told :].decode(errors="replace")
        self.facts.named = [host for host in self.scenario.slots if re.search(rf"\b{host}\b", printed)]
        shown = self.printed[-OUTPUT:].decode(errors="replace")
        return Result(status, self.ended_for, "", shown, "", msgspec.msgpack.encode(self.facts))

    def _look(self) -> None:
        """Note ranks that were not seen before, once they have their data and have met the others."""
        for host, process in mpi_program.processes(self.cluster):
            with contextlib.suppress(psutil.Error, OSError):
                new = process.pid not in self.ranks and len(self.ranks) < mpi_program.MOST
                arguments = mpi_program.arguments_of_rank(process, SEEN) if new else None
                if arguments is not None:
                    self.ranks[process.pid] = self._seen(host, process, arguments)

    def _seen(self, host: str, process: psutil.Process, arguments: list[str]) -> Launched:
        """Return what a rank was given, by its process.

        Raises:
            psutil.Error, OSError: it has ended.
        """
        environment = process.environ()
        data = environment.get("DATA", "")
        given = {name: mpi_program.short(environment[name]) if name in environment else None for name in VARIABLES}
        words = [mpi_program.short(word) for word in arguments[: 2 * len(mpi_program.ARGUMENTS)]]
        return Launched(host, words, mpi_program.short(data), mpi_program.copied(process, data, self.cluster), given)

    def _left(self) -> list[str]:
        """Return what still runs on hosts that can be reached, some seconds after the script has ended."""
        away = self.scenario.disturbed if self.disturbed and self.scenario.order else None
        found = [(host, process) for host, process in mpi_program.processes(self.cluster) if host != away]
        alive = psutil.wait_procs([process for _, process in found], timeout=LEFT)[1]
        return sorted({host for host, process in found if process in alive})
