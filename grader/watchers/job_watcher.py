"""Watches a batch script under Slurm: what each run of its job starts where, what it finds there, and how it ends.

Processes, files and bytes are seen from outside of the script; states of jobs and nodes are those that the controller
reports.
"""

import contextlib
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from course import hosts
from course.hosts import slurm
from course.hosts.cluster import HostsError
from course.hosts.layout import HEAD
from course.hosts.slurm import Job, Slurm
from grader.terms.facts import EndedFor
from grader.terms.job import Result
from grader.terms.watched_facts import JobFacts, SeenRun, SeenTask
from grader.watchers import mpi_program, mpi_rank
from grader.watchers.clock import Clock

CHECKPOINTS, WORK = Path("/shared/the checkpoints"), Path("/shared/work")
ORDERS, OTHERS = "orders", "others"  # folders below the shared one, for the ranks of the job and of another one
REQUEUED = {"drain": 10, "kill": 30, "limit": 38}  # seconds until the job is in the queue again
GONE = "COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT", "CANCELLED"
OUTPUT = 20_000  # characters kept of what a job prints
PULSE = 0.1  # seconds between looks


@dataclass(frozen=True)
class Scenario:
    """Nodes, a job, and what happens to it.

    Attributes:
        slots: of each host.
        per_node: the job's tasks per node; it has two nodes.
        order: what the ranks of its last run do when all are up: see grader.watchers.mpi_rank.
        network: that tensors are to be exchanged over.
        faults: each ends a run of the job: "drain", "kill" or "limit".
        other: whether another job of the same script runs at the same time.
    """

    slots: dict[str, int]
    per_node: int = 1
    order: str = "end"
    network: str = "10.77.0.0/24"
    faults: tuple[str, ...] = ()
    other: bool = False


SCENARIOS = {
    "steady": Scenario({"zoe": 2, "adam": 2, "kim": 1}, per_node=2, other=True),
    "failing": Scenario({"otto": 2, "ida": 1}, order="fail", network="10.78.0.0/24"),
    "moved": Scenario({"ada": 1, "ben": 1, "eva": 1, "lee": 1}, faults=("drain", "kill")),
    "limit": Scenario({"mia": 1, "tom": 1}, faults=("limit",)),
}


def watch(name: str, script: Path, clock: Path) -> Result:
    """Submit a batch script in a scenario, and return how its job ended, with JobFacts.

    Args:
        name: of the scenario.
        script: the file.
        clock: see grader.watchers.clock.
    """
    scenario = SCENARIOS[name]
    checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    slots = scenario.slots
    with hosts.up(list(slots), slots=list(slots.values())) as cluster, slurm.up(cluster) as scheduler:
        watched = _Watched(scheduler, scenario, clock)
        watched.facts.syntax = checked.stderr.replace(str(script), script.name)[:1000]
        if scenario.other:
            watched.watch_other(script)
        if watched.submit(script):
            watched.watch_run()
            for fault in scenario.faults:
                if watched.facts.runs[-1].met and not watched.over and watched.move(fault):
                    watched.watch_run()
        return watched.until_end()


class _Watched:
    """A job, and what was seen of it."""

    def __init__(self, scheduler: Slurm, scenario: Scenario, clock: Path):
        self.clock = clock
        self.scheduler, self.scenario, self.cluster = scheduler, scenario, scheduler.cluster
        self.facts = JobFacts()
        self.number = 0
        self.job = Job("PENDING", "", 0, 0)
        self.seen: set[int] = set()  # processes of ranks
        self.digests: list[str] = []  # of rank 0's secret in each run
        self.ended_for: EndedFor | None = None
        for orders in (ORDERS, OTHERS):
            mpi_program.provide(self.cluster, orders)
        for folder in (CHECKPOINTS.name, WORK.name):
            (self.cluster.shared / folder).mkdir()
        places = {"DATA": str(mpi_program.DATA), "CHECKPOINTS": str(CHECKPOINTS), "DATA_NETWORK": scenario.network}
        self.cluster.variables |= places
        self.before = self._received()

    @property
    def over(self) -> bool:
        """Whether the job has ended and is not in the queue again."""
        return self.job.state in GONE

    def watch_other(self, script: Path) -> None:
        """Run a job of the script on the last host, and note where its checkpoints are."""
        try:
            number = self._sbatch(script, OTHERS, "--nodes=1", "--ntasks-per-node=1", f"--nodelist={self._hosts()[-1]}")
        except (HostsError, ValueError):
            return  # what is wrong with the script is said of the job itself
        run = SeenRun([])
        self._look(run, OTHERS, lambda: bool(run.ranks) or self.scheduler.job(number).state in GONE)
        self.facts.other = run.ranks[0].checkpoints if run.ranks else ""
        mpi_program.order(self.cluster, OTHERS, "end")

    def submit(self, script: Path) -> bool:
        """Submit the job, and return whether Slurm has taken it."""
        options = ["--hold", "--nodes=2", f"--ntasks-per-node={self.scenario.per_node}"]
        try:
            self.number = self.facts.number = self._sbatch(script, ORDERS, *options)
        except (HostsError, ValueError) as error:
            self.facts.refused = str(error).replace(str(script), script.name)[:1000]
            return False
        described = self.scheduler.ask("scontrol", "show", "job", str(self.number))
        self.facts.limit = re.findall(r"^ +RunTime=.* TimeLimit=(\S+)", described, re.M)[-1]
        self.facts.output = re.findall(r"^ +StdOut=(.*)", described, re.M)[-1]
        self.scheduler.ask("scontrol", "release", str(self.number))  # now the script runs, which could change its limit
        return True

    def watch_run(self) -> None:
        """Look at the hosts until all ranks of a run are up, or none more can come."""
        run = SeenRun([])
        self.facts.runs.append(run)
        number = len(self.facts.runs) - 1
        wanted = 2 * self.scenario.per_node

        def all_up() -> bool:
            self.job = self.scheduler.job(self.number)
            if self.job.state == "RUNNING" and not run.nodes:
                run.nodes = list(self.scheduler.names(self.job.nodes))
            ready = mpi_program.ready(self.cluster, ORDERS, number)
            run.met = ready == wanted
            return ready is not None or self.over or self.job.restarts > number

        self._look(run, ORDERS, all_up)
        self.digests.append(mpi_program.digest(self.cluster, ORDERS, number))

    def move(self, fault: str) -> bool:
        """End a run of the job by a fault, and return whether another run has begun."""
        run = self.facts.runs[-1]
        if not run.nodes:
            return False
        restarts = self.job.restarts
        if fault == "kill":
            self.cluster.kill(run.nodes[-1])
        elif fault == "limit":
            self._change("TimeLimit=2")
        else:
            self.scheduler.ask("scontrol", "update", f"NodeName={run.nodes[0]}", "State=drain", "Reason=repair")
            with contextlib.suppress(HostsError):  # a job may not be put back that does not say so
                self.scheduler.ask("scontrol", "requeue", str(self.number))
        requeued = self._until(lambda job: job.restarts > restarts and job.state == "PENDING", REQUEUED[fault])
        if not requeued:
            return False
        self._change("TimeLimit=60")
        self.scheduler.start_now(self.number)
        return self._until(lambda job: job.state == "RUNNING", mpi_program.PATIENCE)

    def until_end(self) -> Result:
        """Let the ranks end, wait until the job has, and return how it did and what was seen."""
        mpi_program.order(self.cluster, ORDERS, self.scenario.order)
        self.facts.state = self._last_state() if self.number else ""
        self.facts.received = dict(self._received() - self.before)
        printed = mpi_program.text(self.cluster.seen_from_outside(HEAD, Path(self.facts.output)))[-OUTPUT:]
        found = re.findall(r"run (\d{1,6}) of the job: (\w+)", printed)
        self.facts.printed = [int(run) for run, digest in found if digest in self.digests[int(run) : int(run) + 1]]
        return Result(self.job.status, self.ended_for, "", printed, "", msgspec.msgpack.encode(self.facts))

    def _last_state(self) -> str:
        """Wait until the job has ended, and return its state; REQUEUED where it is in the queue once more."""
        runs = len(self.facts.runs)
        if not self.over and self._until(lambda job: job.restarts >= runs, mpi_program.PATIENCE):
            return "REQUEUED"
        if not self.over:
            self.ended_for = "time"
        elif self.job.state == "COMPLETED":
            self.facts.left = self._left()
        return self.job.state

    def _sbatch(self, script: Path, orders: str, *options: str) -> int:
        """Submit the script for ranks with this folder for orders, and return the job's number."""
        return self.scheduler.submit(*options, f"--chdir={WORK}", str(script), *mpi_program.command(orders))

    def _change(self, setting: str) -> None:
        """Change a setting of the job."""
        self.scheduler.ask("scontrol", "update", f"JobId={self.number}", setting)

    def _until(self, what: Callable[[Job], bool], seconds: float) -> bool:
        """Wait until something is true of the job, and return whether it is; False also if the job has ended."""
        clock = Clock(self.clock, seconds)
        while clock.runs():
            self.job = self.scheduler.job(self.number)
            if what(self.job):
                return True
            if self.over:
                return False
            time.sleep(PULSE)
        return False

    def _look(self, run: SeenRun, orders: str, up: Callable[[], bool]) -> None:
        """Note the ranks of a run, until something is true or their time is over."""
        clock = Clock(self.clock, mpi_program.PATIENCE)
        enough = False
        while not enough:
            enough = up() or not clock.runs()
            for host, process in mpi_program.processes(self.cluster):
                with contextlib.suppress(psutil.Error, OSError):
                    arguments = mpi_program.arguments_of_rank(process, orders)
                    if process.pid not in self.seen and arguments is not None and len(self.seen) < mpi_program.MOST:
                        run.ranks.append(self._seen(host, process, arguments))
                        self.seen.add(process.pid)
            time.sleep(0 if enough else PULSE)

    def _left(self) -> list[str]:
        """Return the hosts on whose disks data are left, be it in an archive."""
        up = self.cluster.processes()
        return [host for host in self._hosts() if host in up and mpi_program.has_data(self.cluster.scratch(host))]

    def _hosts(self) -> list[str]:
        return list(self.scenario.slots)

    def _received(self) -> Counter[str]:
        """Return the bytes that all hosts which are up have received so far, by interface."""
        return mpi_program.received(self.cluster, [host for host in self.cluster.processes() if host != HEAD])

    def _seen(self, host: str, process: psutil.Process, arguments: list[str]) -> SeenTask:
        """Return what a rank was given, by its process.

        Raises:
            psutil.Error, OSError: it has ended.
        """
        environment = process.environ()
        data, checkpoints = environment.get("DATA", ""), environment.get("CHECKPOINTS", "")
        run = environment.get("SLURM_RESTART_COUNT", "0")
        folder = Path(f"/proc/{process.pid}/root/{os.path.normpath(checkpoints)}") if checkpoints else None
        files = sorted(folder.glob(f"{mpi_rank.CHECKPOINT}*"))[: mpi_program.MOST] if folder else []
        texts = {mpi_program.short(file.name): mpi_program.text(file) for file in files}
        found = [name for name, text in texts.items() if text not in ("", run)]
        own = bool(folder) and Path(os.path.normpath(checkpoints)).is_relative_to(CHECKPOINTS)
        asked = any(mpi_rank.digest(text) in self.digests for text in texts.values())
        copied = mpi_program.copied(process, data, self.cluster)
        words = [mpi_program.short(word) for word in arguments[: 2 * len(mpi_program.ARGUMENTS)]]
        return SeenTask(host, words, mpi_program.short(data), copied, mpi_program.short(checkpoints), own, found, asked)
