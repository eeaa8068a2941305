"""Watches a function that sums arrays over ranks: how each rank's attempts end, and where ranks wait that never end.

All ranks run on one host, in one job. What they report passes through grader.watchers.allreduce_rank, in the process of
the script, and may be anything. Messages and bytes in it are counted by Open MPI.
"""

import contextlib
import re
import signal
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec
import psutil

from course.hosts.cluster import Cluster, HostsError
from course.internal.monitoring import OPTIONS
from grader.terms.job import Result
from grader.terms.watched_facts import AllreduceFacts, Attempt
from grader.watchers import mpi_program
from grader.watchers.clock import Clock
from grader.watchers.head_script import HeadScript

HOSTS: dict[str, str] = {}
RANKS = 5
RANK = str(Path(__file__).with_name("allreduce_rank.py"))
STARTED = 20  # seconds of a Clock until the first attempt begins
LATEST = 8  # seconds from one report of any rank to the next: a large array takes some tenths of a second
WHERE = 2  # seconds in which ranks say where they are
OUTPUT = 1000  # bytes of what mpirun printed last
MOST = 1000  # attempts of one rank
LONGEST = 1_000_000  # characters of what a rank reports


@dataclass(frozen=True)
class Situation:
    """A host with room for all ranks, to which nothing happens."""

    slots: dict[str, int] = field(default_factory=lambda: {"host": RANKS})


SITUATIONS = {"ranks": Situation()}


def watch(cluster: Cluster, situation: Situation, script: Path, clock: Path) -> Result:
    """Run the function on all ranks, and return how that ended, with AllreduceFacts.

    Args:
        cluster: the head and a host, which are up. The ranks run on the head.
        situation: nothing happens in it.
        script: the file with the function.
        clock: see grader.watchers.clock.

    Raises:
        HostsError: no rank started, which is no fault of the script's.
    """
    folder = cluster.shared / "seen"
    folder.mkdir()
    ranks = ["mpirun", "-np", str(RANKS), *OPTIONS, "--output", "rank"]
    started = HeadScript(cluster, [*ranks, sys.executable, RANK, str(script), "/shared/seen"], {})
    reported, patience = 0, STARTED
    while not started.over and Clock(clock, patience).until(partial(_goes_on, started, folder, reported)):
        reported, patience = _size(folder), LATEST
    lines = {} if started.over else _lines(cluster, folder, script, clock)
    started.end()
    if not any((folder / str(rank)).exists() for rank in range(RANKS)):
        raise HostsError(f"No rank could be started: {started.printed[-OUTPUT:].decode(errors='replace')}")
    facts = AllreduceFacts(attempts(folder))
    for attempt in facts.attempts:
        attempt.line = None if attempt.ended else lines.get(attempt.rank)
    facts.error = next((attempt.error for attempt in facts.attempts if attempt.error), None)
    return started.result(facts)


def _goes_on(started: HeadScript, folder: Path, before: int) -> bool:
    """Return whether a rank has reported something since so many bytes, or all have ended."""
    return started.over or _size(folder) > before


def _size(folder: Path) -> int:
    """Return how much all ranks have reported, in bytes."""
    return sum((folder / str(rank)).stat().st_size for rank in range(RANKS) if (folder / str(rank)).is_file())


def _lines(cluster: Cluster, folder: Path, script: Path, clock: Path) -> dict[int, int]:
    """Ask each rank where it is, and return the innermost line of the script, by rank, for those that are in it."""
    for _, process in mpi_program.processes(cluster):
        with contextlib.suppress(psutil.Error):  # it has ended
            if RANK in process.cmdline()[1:2]:
                process.send_signal(signal.SIGUSR1)
    stacks = [folder / f"{rank}.stack" for rank in range(RANKS)]
    Clock(clock, WHERE).until(lambda: all(mpi_program.text(stack) for stack in stacks))
    frame = re.compile(rf'File "{re.escape(str(script))}", line (\d{{1,6}}) in ')
    found = {rank: frame.search(mpi_program.text(stack)) for rank, stack in enumerate(stacks)}
    return {rank: int(match[1]) for rank, match in found.items() if match}


def attempts(folder: Path) -> list[Attempt]:
    """Return the attempts that ranks have reported, by case, then rank; each as it was last reported.

    Lines that are no Attempt are left out.
    """
    found: dict[object, dict[int, Attempt]] = {}
    for rank in range(RANKS):
        for line in mpi_program.text(folder / str(rank))[:LONGEST].splitlines()[:MOST]:
            with contextlib.suppress(msgspec.MsgspecError, RecursionError):
                attempt = msgspec.json.decode(line, type=Attempt)
                attempt.rank = rank
                found.setdefault(attempt.case, {})[rank] = attempt
    return [attempt for of_case in found.values() for attempt in of_case.values()]
