"""What each step asks for: each module or folder here with a `part` is one. of(step) finds the part of a step."""

import importlib
import pkgutil
from typing import Any

from course import steps
from grader.checks.part import Check, Part

_rooms = {room.name: importlib.import_module(f"{__name__}.{room.name}") for room in pkgutil.iter_modules(__path__)}
PARTS: dict[str, Part[Any]] = {name: room.part for name, room in _rooms.items() if hasattr(room, "part")}
CHECKS: dict[int, Check[Any]] = {
    check.step.number: check
    for check in sorted((check for part in PARTS.values() for check in part.checks), key=lambda each: each.step.number)
}


class NoCheckError(LookupError):
    """A step has no check; the message, for a person, says which steps have one."""


def of(number: int) -> Part[Any]:
    """Return the part that checks a step.

    Raises:
        NoCheckError: the step has no check, or does not exist.
    """
    for part in PARTS.values():
        if any(check.step.number == number for check in part.checks):
            return part
    raise NoCheckError(f"Step {number} has no check; steps {', '.join(map(str, CHECKS))} have.")


_unchecked = [step.number for step in steps.STEPS if step.has_exercise and step.number not in CHECKS]
if _unchecked:
    raise NoCheckError(f"Steps {_unchecked} have an exercise and no check: write one in grader/checks/.")
