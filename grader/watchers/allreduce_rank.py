"""Runs step 21's function as a rank, on arrays whose sums show which ranks' values are in them.

    mpirun ... python allreduce_rank.py PROGRAM FOLDER

Each rank calls the function once for each of CASES, on the communicator of the case's ranks, and appends what it saw to
FOLDER/RANK: an Attempt per line when it begins, and again when it has ended. Open MPI counts messages and bytes. On
SIGUSR1, the rank writes where it is into FOLDER/RANK.stack.

An element of rank r is a small number times 10 to the power of r, so each digit of a sum divided by that number says
how often a rank's value is in it. All sums are whole numbers that float32 holds exactly.
"""

import contextlib
import faulthandler
import functools
import itertools
import signal
import sys
import time
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from mpi4py import MPI

from course.internal.monitoring import Monitoring
from grader.terms.watched_facts import Attempt, Case, Into, Kind
from grader.watchers import imported

RANKS = 5  # at most
LARGE = 2**24  # bytes: more than MPI sends before a receiver is there
PERIOD = 89  # elements after which the small numbers repeat
PULSE = 0.002  # seconds between looks for other ranks

EVEN = 120  # divisible by each number of ranks
LENGTHS = 0, 1, 2, 3, 7, 1003


def cases(ranks: int) -> list[Case]:
    """Return the cases for so many ranks, from small arrays to large ones."""
    both: tuple[Kind, ...] = "float32", "float64"
    found, kinds = [Case(ranks, EVEN, kind, "new") for kind in both], itertools.cycle(both)
    found += [Case(ranks, length, kind, "new") for length, kind in zip(LENGTHS, kinds, strict=False)]
    places: tuple[Into, ...] = "array", "other"
    found += [Case(ranks, length, next(kinds), into) for into in places for length in (EVEN, 7)]
    return [*found, Case(ranks, LARGE // 8 + 1, "float64", "new"), Case(ranks, LARGE // 8 + 1, "float32", "array")]


CASES = [case for ranks in range(1, RANKS + 1) for case in cases(ranks)]


@functools.lru_cache(maxsize=1)  # the large ones take a while
def numbers(length: int) -> np.ndarray:
    """Return the small numbers of an array's elements, as float64 of this length."""
    return np.arange(length) % PERIOD + 1.0


def compare(attempt: Attempt, result: Any) -> None:
    """Note what is wrong with an array that should have the sum in it, if anything."""
    case = attempt.case
    if not isinstance(result, np.ndarray):
        attempt.returned = type(result).__name__
        return
    if result.shape != (case.length,) or result.dtype != case.kind:
        attempt.returned = f"{result.dtype} with the shape {result.shape}"
        return
    ones = sum(10**rank for rank in range(case.ranks))  # each rank's value once
    if np.array_equal(result, numbers(case.length) * ones):
        return
    ratio = result / numbers(case.length)
    wrong = np.flatnonzero(ratio != ones)
    first = wrong[0]
    after = np.flatnonzero(ratio[first:] != ratio[first])  # NaN differs from itself: then it is one element
    attempt.first, attempt.last = int(first), int(first + max(after[0], 1) - 1 if len(after) else case.length - 1)
    attempt.wrong, value = len(wrong), ratio[first]
    if np.isfinite(value) and value == int(value) and 0 <= value < 10**case.ranks:
        attempt.times = [int(digit) for digit in reversed(f"{int(value):0{case.ranks}d}")]


def attempt_case(function: Any, comm: MPI.Comm, case: Case, attempt: Attempt, monitoring: Monitoring) -> None:
    """Call the function for a case, and note what it did.

    Raises:
        Exception: as the function does.
    """
    array = (numbers(case.length) * 10**comm.rank).astype(case.kind)
    before = array.copy()
    outs = {"new": None, "array": array, "other": np.full(case.length, np.nan, case.kind)}
    out = outs[case.into]
    began = monitoring.sent()
    result = function(comm, array) if out is None else function(comm, array, out=out)
    messages, size = monitoring.sent()
    attempt.messages, attempt.bytes = messages - began[0], size - began[1]
    compare(attempt, result)
    attempt.changed = out is not array and not np.array_equal(array, before)
    attempt.elsewhere = out is not None and isinstance(result, np.ndarray) and not np.array_equal(result, out)
    attempt.ended = True


def meet(comm: MPI.Comm) -> None:
    """Wait for the other ranks, without keeping a core from those that still compute, as MPI's own waits do."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(PULSE)


def main(program: str, folder: Path) -> None:
    """Be a rank."""
    world = MPI.COMM_WORLD
    with (folder / str(world.rank)).open("wb", 0) as report, (folder / f"{world.rank}.stack").open("wb", 0) as stack:
        faulthandler.register(signal.SIGUSR1, cast(Any, stack), all_threads=False)

        def say(attempt: Attempt) -> None:
            report.write(msgspec.json.encode(attempt) + b"\n")

        attempt = Attempt(Case(RANKS, 0, "", "new"), world.rank)
        try:
            (function,), monitoring = imported.functions(program, "allreduce"), Monitoring()
            members = [world.Split(0 if world.rank < ranks else MPI.UNDEFINED) for ranks in range(1, RANKS + 1)]
            for case in CASES:
                if world.rank < case.ranks:
                    meet(members[case.ranks - 1])
                    # A communicator of its own: what is left of one case does not disturb the next.
                    comm = members[case.ranks - 1].Dup()
                    attempt = Attempt(case, comm.rank)
                    say(attempt)
                    attempt_case(function, comm, case, attempt, monitoring)
                    say(attempt)
            meet(world)
        except BaseException as error:  # also sys.exit()
            attempt.error = imported.error_of(error, program)
            say(attempt)
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            world.Abort(1)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
