"""What each step asks for: a module or folder per part. of(step) finds the part."""

from typing import Any

from course import steps
from grader.checks import evaluator, horovod, multi_worker, parameter_server, production
from grader.checks.part import Check, Part

PARTS: tuple[Part[Any], ...] = (horovod.part, production.part, multi_worker.part, parameter_server.part, evaluator.part)
CHECKS: dict[int, Check[Any]] = {check.step.number: check for part in PARTS for check in part.checks}


class NoCheckError(LookupError):
    """A step has no check; the message, for a person, says which steps have one."""


def of(number: int) -> Part[Any]:
    """Return the part that checks a step.

    Raises:
        NoCheckError: the step has no check, or does not exist.
    """
    for part in PARTS:
        if any(check.step.number == number for check in part.checks):
            return part
    raise NoCheckError(f"Step {number} has no check; steps {', '.join(map(str, CHECKS))} have.")


_unchecked = [step.number for step in steps.STEPS if step.has_exercise and step.number not in CHECKS]
if _unchecked:
    raise NoCheckError(f"Steps {_unchecked} have an exercise and no check: write one in grader/checks/.")
