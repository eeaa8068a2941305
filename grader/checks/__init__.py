"""What each step asks for: each module or folder here with a `part` is one. of(step) finds the part of a step."""

import contextlib
import importlib
import pkgutil
from typing import Any

from course import steps
from grader.checks.part import Check, Part

_rooms = {room.name: importlib.import_module(f"{__name__}.{room.name}") for room in pkgutil.iter_modules(__path__)}
PARTS: dict[str, Part[Any]] = {name: room.part for name, room in _rooms.items() if hasattr(room, "part")}
CHECKS: list[Check[Any]] = sorted(
    (check for part in PARTS.values() for check in part.checks), key=lambda check: check.step.number
)
STEPS = list(dict.fromkeys(check.step for check in CHECKS))  # that have checks


class NoCheckError(LookupError):
    """A step has no check; the message, for a person, says which steps have one."""


def of(number: int) -> Part[Any]:
    """Return the part that checks a step.

    Raises:
        NoCheckError: the step has no check, or does not exist.
    """
    with contextlib.suppress(KeyError):
        script = steps.get(number).script  # a capstone's part has checks of other steps, too
        for part in PARTS.values():
            if part.script == script and part.of(number):
                return part
    numbers = ", ".join(step.short_label for step in steps.STEPS if step in STEPS and not step.is_capstone)
    raise NoCheckError(f"{steps.label(number).capitalize()} has no check; steps {numbers} have.")


_unchecked = [step.number for step in steps.STEPS if step.has_exercise and step not in STEPS]
if _unchecked:
    raise NoCheckError(f"Steps {_unchecked} have an exercise and no check: write one in grader/checks/.")
