"""Which step's edit a line of a learner's script belongs to, by the solutions."""

import difflib
from functools import cache

from course import steps
from course.steps import Step

ALIKE = 0.6  # difflib's ratio, from which on two lines are versions of one


def step_of(line: str, number: int) -> int | None:
    """Return the step whose edit a line belongs to; None for a line of the program that the part begins with.

    It is the first step whose solution has the line or, without one, the step with the most similar new line. A line
    that is like none of these is the learner's own, and belongs to the step that the script is for.

    Args:
        line: of the learner's script.
        number: the step that the script is for.
    """
    line = line.strip()
    chain = _chain(number)
    if not line or line in _lines(chain[0].starter_name):
        return None
    likeness = {step.number: max(_likeness(line, new) for new in _new_lines(step)) for step in chain}
    first = max(likeness, key=lambda step: likeness[step])  # of several that are as similar
    return first if likeness[first] >= ALIKE else number


def _likeness(line: str, other: str) -> float:
    return difflib.SequenceMatcher(None, line, other).ratio()


def _chain(number: int) -> list[Step]:
    """Return the steps of one program up to this one: each starts with what is true after the one before."""
    chain = [steps.get(number)]
    before = {step.solution_name: step for step in steps.STEPS if step.has_exercise and step.number < number}
    while chain[0].starter_name in before:
        chain.insert(0, before[chain[0].starter_name])
    return chain


@cache
def _lines(name: str) -> frozenset[str]:
    """Return the lines of code of a program in solutions/."""
    lines = (line.strip() for line in (steps.SOLUTIONS / name).read_text().splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


def _new_lines(step: Step) -> frozenset[str]:
    return _lines(step.solution_name) - _lines(step.starter_name)
