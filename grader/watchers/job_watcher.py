"""Watches a batch script under Slurm: what each run of its job starts where, what it finds there, and how it ends.

Processes, files and bytes are seen from outside of the script; states of jobs and nodes are those that the controller
reports.
"""

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from course.hosts import slurm
from course.hosts.cluster import Cluster, HostsError
from course.hosts.layout import HEAD
from course.hosts.slurm import Job, Slurm
from grader.terms.facts import EndedFor
from grader.terms.job import Result
from grader.terms.watched_facts import JobFacts, SeenRun
from grader.watchers import mpi_program
from grader.watchers.clock import Clock
from grader.watchers.mpi_program import PATIENCE, Program

HOSTS: dict[str, str] = {}  # as they are by default
CHECKPOINTS, WORK = Path("/shared/the checkpoints"), Path("/shared/work")
REQUEUED = {"drain": 10, "kill": 30, "limit": 38}  # seconds until the job is in the queue again
GONE = "COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT", "CANCELLED"


@dataclass(frozen=True)
class Situation:
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


SITUATIONS = {
    "steady": Situation({"zoe": 2, "adam": 2, "kim": 1}, per_node=2, other=True),
    "failing": Situation({"otto": 2, "ida": 1}, order="fail", network="10.78.0.0/24"),
    "moved": Situation({"ada": 1, "ben": 1, "eva": 1, "lee": 1}, faults=("drain", "kill")),
    "limit": Situation({"mia": 1, "tom": 1}, faults=("limit",)),
}


def watch(cluster: Cluster, situation: Situation, script: Path, clock: Path) -> Result:
    """Submit a batch script in a situation, and return how its job ended, with JobFacts.

    Args:
        cluster: the hosts, which are up.
        situation: what happens to them.
        script: the file.
        clock: see grader.watchers.clock.
    """
    with slurm.up(cluster) as scheduler:
        watched = _Watched(scheduler, situation, clock)
        watched.facts.syntax = mpi_program.syntax(script)
        if situation.other:
            watched.watch_other(script)
        if watched.submit(script):
            watched.watch_run()
            for fault in situation.faults:
                if watched.facts.runs[-1].met and not watched.over and watched.move(fault):
                    watched.watch_run()
        return watched.until_end()


class _Watched:
    """A job, and what was seen of it."""

    def __init__(self, scheduler: Slurm, situation: Situation, clock: Path):
        self.clock = clock
        self.scheduler, self.situation, self.cluster = scheduler, situation, scheduler.cluster
        self.facts = JobFacts()
        self.job = Job("PENDING", "", 0, 0)
        self.ended_for: EndedFor | None = None
        self.program = Program(self.cluster, "orders")
        for folder in (CHECKPOINTS.name, WORK.name):
            (self.cluster.shared / folder).mkdir()
        places = {"DATA": str(mpi_program.DATA), "CHECKPOINTS": str(CHECKPOINTS), "DATA_NETWORK": situation.network}
        self.cluster.variables |= places
        self.before = mpi_program.received(self.cluster)

    @property
    def over(self) -> bool:
        """Whether the job has ended and is not in the queue again."""
        return self.job.state in GONE

    def watch_other(self, script: Path) -> None:
        """Run a job of the script on the last host, and note where its checkpoints are."""
        program, run = Program(self.cluster, "others"), SeenRun()
        options = ["--nodes=1", "--ntasks-per-node=1", f"--nodelist={self.cluster.hosts[-1]}"]
        try:
            number = self._sbatch(script, program, *options)
        except (HostsError, ValueError):
            return  # what is wrong with the script is said of the job itself

        def up() -> bool:
            run.ranks += program.new_ranks()
            return bool(run.ranks) or self.scheduler.job(number).state in GONE

        Clock(self.clock, PATIENCE).until(up)
        self.facts.other = run.ranks[0].variables.get("CHECKPOINTS", "") if run.ranks else ""
        program.order("end")

    def submit(self, script: Path) -> bool:
        """Submit the job, and return whether Slurm has taken it."""
        options = ["--hold", "--nodes=2", f"--ntasks-per-node={self.situation.per_node}"]
        try:
            self.facts.number = self._sbatch(script, self.program, *options)
        except (HostsError, ValueError) as error:
            self.facts.refused = str(error).replace(str(script), script.name)[:1000]
            return False
        described = self.scheduler.ask("scontrol", "show", "job", str(self.facts.number))
        self.facts.limit = re.findall(r"^ +RunTime=.* TimeLimit=(\S+)", described, re.M)[-1]
        self.facts.output = re.findall(r"^ +StdOut=(.*)", described, re.M)[-1]
        self.scheduler.ask("scontrol", "release", str(self.facts.number))
        return True

    def watch_run(self) -> None:
        """Look at the hosts until all ranks of a run are up, or none more can come."""
        number, run = len(self.facts.runs), SeenRun()
        self.facts.runs.append(run)

        def up() -> bool:
            self.job = self.scheduler.job(self.facts.number)
            if self.job.state == "RUNNING" and not run.nodes:
                run.nodes = list(self.scheduler.names(self.job.nodes))
            ready = self.program.ready(number)
            run.met = ready == 2 * self.situation.per_node
            run.ranks += self.program.new_ranks()
            return ready is not None or self.over or self.job.restarts > number

        Clock(self.clock, PATIENCE).until(up)

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
                self.scheduler.ask("scontrol", "requeue", str(self.facts.number))
        if not self._until(lambda job: job.restarts > restarts and job.state == "PENDING", REQUEUED[fault]):
            return False
        self._change("TimeLimit=60")
        self.scheduler.start_now(self.facts.number)
        return self._until(lambda job: job.state == "RUNNING", PATIENCE)

    def until_end(self) -> Result:
        """Let the ranks end, wait until the job has, and return how it did and what was seen."""
        self.program.order(self.situation.order)
        self.facts.state = self._last_state() if self.facts.number else ""
        self.facts.received = dict(mpi_program.received(self.cluster) - self.before)
        output = self.cluster.seen_from_outside(HEAD, Path(self.facts.output))
        printed = mpi_program.text(output)[-mpi_program.OUTPUT :]
        self.facts.printed = [int(run) for run in re.findall(r"\brun (\d{1,6}) of the job$", printed, re.M)]
        return Result(self.job.status, self.ended_for, "", printed, "", msgspec.msgpack.encode(self.facts))

    def _last_state(self) -> str:
        """Wait until the job has ended, and return its state; REQUEUED where it is in the queue once more."""
        runs = len(self.facts.runs)
        if not self.over and self._until(lambda job: job.restarts >= runs, PATIENCE):
            return "REQUEUED"
        if not self.over:
            self.ended_for = "time"
        elif self.job.state == "COMPLETED":
            up = self.cluster.processes().keys() & self.cluster.hosts
            self.facts.copies = sorted(host for host in up if mpi_program.has_data(self.cluster.scratch(host)))
        return self.job.state

    def _sbatch(self, script: Path, program: Program, *options: str) -> int:
        """Submit the script for a program, and return the job's number."""
        return self.scheduler.submit(*options, f"--chdir={WORK}", str(script), *program.command)

    def _change(self, setting: str) -> None:
        """Change a setting of the job."""
        self.scheduler.ask("scontrol", "update", f"JobId={self.facts.number}", setting)

    def _until(self, true: Callable[[Job], bool], seconds: float) -> bool:
        """Wait until something is true of the job, and return whether it is; False also if the job has ended."""

        def look() -> bool:
            self.job = self.scheduler.job(self.facts.number)
            return true(self.job) or self.over

        Clock(self.clock, seconds).until(look)
        return true(self.job)
