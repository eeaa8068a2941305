"""Watches a launch script: what it starts on which host, what the ranks are given, and how it ends.

All of it is seen from outside: processes by the hosts' process namespaces, files by their mounts, bytes by the
counters of their interfaces. What the script prints is searched for names of hosts only.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import psutil

from course.hosts import scripts
from course.hosts.cluster import Cluster
from grader.terms.job import Result
from grader.terms.watched_facts import LaunchFacts, SeenRun
from grader.watchers import mpi_program
from grader.watchers.clock import Clock
from grader.watchers.head_script import HeadScript

HOSTS = {"disk": "32m"}  # less than a file may have: a full one is a file
GIVEN = {"RUN": "a run", "SEED": "7"}
LATEST = 30  # seconds that a script may take to notice that a host is gone
LEFT = 5  # seconds after the end of the script in which what it has started may end


@dataclass(frozen=True)
class Situation:
    """Hosts, and what happens to them.

    Attributes:
        slots: of each host, in the order of the hostfile.
        order: what the ranks do when all are up: see grader.watchers.mpi_rank.
        network: that tensors are to be exchanged over.
        fault: what is done to a host: a method of Cluster.
        hit: the place of that host among the hosts.
        before: whether it is done before the script starts; otherwise when all ranks are up.
    """

    slots: dict[str, int]
    order: str = "end"
    network: str = "10.77.0.0/24"
    fault: str | None = None
    hit: int = -1
    before: bool = False


SITUATIONS = {
    "uneven": Situation({"zoe": 1, "adam": 3}),
    "failing": Situation({"kim": 1, "lee": 1}, "fail", "10.78.0.0/24"),
    "unshared": Situation({"otto": 1, "ida": 2}, fault="hide_shared", before=True),
    "full": Situation({"hal": 1, "sue": 1}, fault="fill_disk", before=True),
    # A script that names one of them without looking is right once.
    "cut": Situation({"ben": 1, "eva": 1}, "wait", fault="pull_cable"),
    "cut_first": Situation({"sam": 1, "pia": 1}, "wait", fault="pull_cable", hit=0),
}


def watch(cluster: Cluster, situation: Situation, script: Path, clock: Path) -> Result:
    """Run a launch script on the hosts of a situation, and return how it ended, with LaunchFacts.

    Args:
        cluster: the hosts, which are up.
        situation: what happens to them.
        script: the file.
        clock: see grader.watchers.clock.
    """
    program, run = mpi_program.Program(cluster, "seen"), SeenRun()
    hit = list(situation.slots)[situation.hit]
    lines = [f"{host}   slots={number}  # {number} to start here" for host, number in situation.slots.items()]
    (cluster.shared / "hostfile").write_text("\n".join(["# the hosts of this job", "", *lines, ""]))
    before = mpi_program.received(cluster)
    if situation.fault and situation.before:
        getattr(cluster, situation.fault)(hit)
    started = HeadScript(
        cluster,
        [scripts.interpreter(script), str(script), "/shared/hostfile", *program.command],
        GIVEN | {"DATA": str(mpi_program.DATA), "DATA_NETWORK": situation.network},
    )

    def up() -> bool:
        run.ranks += program.new_ranks()
        number = program.ready()
        run.met = number == sum(situation.slots.values())
        return started.over or number is not None

    Clock(clock, mpi_program.PATIENCE).until(up)
    printed = len(started.printed)
    if not started.over:
        if situation.fault and not situation.before:
            getattr(cluster, situation.fault)(hit)
        program.order(situation.order)
    Clock(clock, LATEST if situation.fault else mpi_program.PATIENCE).until(lambda: started.over)
    started.end()
    said = started.printed[printed:].decode(errors="replace")
    lost = hit if situation.fault and not situation.before else None
    facts = LaunchFacts(
        syntax=mpi_program.syntax(script),
        runs=[run],
        received=dict(mpi_program.received(cluster) - before),
        named=[host for host in situation.slots if re.search(rf"\b{host}\b", said)],
        running=[] if started.ended_for else _running(cluster, lost),
    )
    return started.result(facts)


def _running(cluster: Cluster, lost: str | None) -> list[str]:
    """Return the hosts on which processes still run some seconds after the script has ended, without the lost one."""
    found = [(host, process) for host, process in mpi_program.processes(cluster) if host != lost]
    alive = psutil.wait_procs([process for _, process in found], timeout=LEFT)[1]
    return sorted({host for host, process in found if process in alive})
