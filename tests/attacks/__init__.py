"""Attacks on a class's grading: submissions that try to reach, change or stop what they should not.

Each is a function that hands something in, with what is expected of it in its docstring, and one of these outcomes:
"judged", its script is an honest one and gets its points; "no points"; "a person", no points and a flag for the person
who grades; "not taken", there is no submission.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from course.steps import get

STEP = get(1)
HONEST = STEP.solution.read_text()


@dataclass(frozen=True)
class Aim:
    """The targets of attacks. All attackers know them."""

    course: Path  # the course directory
    home: Path  # the instructor's
    port: int  # of a listener of the test's, on 127.0.0.1
    outside: Path  # a folder that no submission may write to


@dataclass(frozen=True)
class Attack:
    """One attack; the name is the attacker's."""

    name: str
    outcome: str
    hand_in: Callable


class Attacks(list):
    """Attacks of one kind, in the order in which they are written down."""

    def of(self, outcome: str) -> Callable:
        """Return a decorator for the function of an attack with this outcome."""

        def add(function):
            self.append(Attack(function.__name__.replace("_", "-"), outcome, function))
            return function

        return add
