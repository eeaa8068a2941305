"""Calls step 22's functions, and writes down what they return.

    python prediction_process.py PROGRAM FOLDER

FOLDER/measured.json has what was measured between hosts: see Measured. FOLDER/facts gets PredictionFacts, as msgpack.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from course.scaling import allreduce_seconds
from grader.terms.watched_facts import FitAnswer, NetworkAnswer, PredictionFacts, Returned, StepAnswer, StepCase
from grader.watchers import imported

LONGEST = 200  # characters of what a function returned


class Measured(Struct):
    """What was measured between hosts."""

    allreduces: list[tuple[int, int, float]]  # bytes, ranks and seconds of each
    step: StepCase  # alpha and beta in it are those of course.scaling
    seconds: float  # of the step
    model: float  # its seconds, as course.scaling predicts them
    rate: str  # of the network


MEGABIT = 8e-6  # seconds per byte at 1 Mbit/s
SIZES = 1_000, 20_000, 400_000, 8_000_000
NETWORKS = (5e-6, MEGABIT / 10_000), (50e-6, MEGABIT / 1000), (2e-3, MEGABIT / 100)  # alpha and beta


def cases() -> list[StepCase]:
    """Return what step_seconds is asked for: first allreduces alone, by algorithm, and then whole steps."""
    found = []
    for ranks in (1, 2, 3, 4, 8, 100):
        for size, (alpha, beta) in zip((100_000_000, 4_000_000, 1000), NETWORKS, strict=True):
            found.append(StepCase(size, ranks, alpha, beta, 0.0, 0.0, "ring"))
    for algorithm in ("gather_and_broadcast", "tree", "recursive_doubling"):
        for ranks in (2, 4, 8, 64):
            for size, (alpha, beta) in zip((100_000_000, 1000), NETWORKS[:2], strict=True):
                found.append(StepCase(size, ranks, alpha, beta, 0.0, 0.0, algorithm))
    for compute in (0.01, 0.2, 5.0):
        for overlap in (0.0, 0.5, 1.0):
            found.append(StepCase(25_000_000, 8, *NETWORKS[1], compute, overlap, "ring"))
    found += [StepCase(25_000_000, 1, *NETWORKS[1], 0.2, overlap, "ring") for overlap in (0.0, 0.5)]
    return found


def calculated(alpha: float, beta: float, ranks: Sequence[int]) -> list[tuple[int, int, float]]:
    """Return bytes, ranks and seconds of allreduces over a ring, on a network without noise."""
    return [(size, number, allreduce_seconds(size, number, alpha, beta)) for number in ranks for size in SIZES]


def call(program: str, function: Callable[..., Any], *arguments: Any) -> Returned:
    """Return what a function returns, or its error."""
    try:
        result = function(*arguments)
        shown = repr(result)[:LONGEST]
    except Exception as error:
        return Returned(error=imported.error_of(error, program))
    try:
        numbers = [float(result)]
    except Exception:
        try:
            numbers = [float(each) for each in result]
        except Exception:
            return Returned(shown=shown)
    return Returned(numbers[:3], shown)


def answers(program: str, measured: Measured) -> PredictionFacts:
    """Return what the functions of a program return.

    Raises:
        LookupError: the program lacks one of them.
        Exception: the program fails.
    """
    fit, seconds_of = imported.functions(program, "fit", "step_seconds")
    facts = PredictionFacts()
    for case in cases():
        facts.steps.append(StepAnswer(case, call(program, seconds_of, *msgspec.structs.astuple(case))))
    for alpha, beta in NETWORKS:
        for ranks in ((2,), (2, 4, 8)):
            rows = calculated(alpha, beta, ranks)
            facts.fits.append(FitAnswer(alpha, beta, len(rows), call(program, fit, rows)))
    step = measured.step
    fitted, predicted = call(program, fit, measured.allreduces), Returned()
    if len(fitted.numbers) == 2:
        own = msgspec.structs.replace(step, alpha=fitted.numbers[0], beta=fitted.numbers[1])
        predicted = call(program, seconds_of, *msgspec.structs.astuple(own))
    facts.network = NetworkAnswer(step.ranks, measured.rate, measured.seconds, measured.model, fitted, predicted)
    return facts


def main(program: str, folder: Path) -> None:
    """Answer all questions."""
    measured = msgspec.json.decode((folder / "measured.json").read_bytes(), type=Measured)
    status = 0
    try:
        facts = answers(program, measured)
    except BaseException as error:  # also sys.exit()
        facts, status = PredictionFacts(error=imported.error_of(error, program)), 1
    (folder / "facts").write_bytes(msgspec.msgpack.encode(facts))
    sys.exit(status)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
