"""Prove that a mutant is a case for the hunt: the judge finds it wrong, and Python itself does not."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from course import steps
from course.hunt.cases import STEP_COMMENT, Case
from grader.judge import judge
from grader.mutants import Mutant, drawn
from grader.runner.pool import NoVerdictError, Pool

Begins = Callable[[str], object]


def make(seed: int, pool: Pool, numbers: Sequence[int] = drawn.STEPS, begins: Begins = lambda cluster: None) -> Case:
    """Return the case of a seed, made now if it is not there yet.

    Args:
        seed: a number from drawn.FIRST on.
        pool: where to judge mutants.
        numbers: the steps of whose solutions one is taken.
        begins: called with the description of a cluster when a mutant starts there.

    Raises:
        NoVerdictError: the judge found none of its mutants wrong.
    """
    try:
        return drawn.find(seed)
    except KeyError:
        pass
    for mutant in drawn.candidates(seed, numbers):
        if is_wrong(mutant, pool, begins):
            drawn.keep(seed, mutant)
            return drawn.of_mutant(seed, mutant)
    raise NoVerdictError(f"The seed {seed} gives no case: take another one.")


def is_wrong(mutant: Mutant, pool: Pool, begins: Begins = lambda cluster: None) -> bool:
    """Return whether a mutant runs to its end and fails a check. One that Python reports needs no hunt."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(steps.get(mutant.step).script).name
        path.write_text(STEP_COMMENT.sub("", mutant.text))
        report = judge(path, mutant.step, pool, figure=False, begins=begins)
    failure = report.first_failure
    return report.status == "failed" and failure is not None and failure.max_points > 0
