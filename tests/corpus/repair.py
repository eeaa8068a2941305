"""A row of the corpus of the hunt: a file that a learner could hand in as a repair, and whether it is one.

The modules repairs_<part> hold the rows, as small edits of the broken program, in REPAIRS. The broken program itself
and its undoing need no rows: see benchmarks/repairs.py.
"""

from collections.abc import Callable
from dataclasses import dataclass

from course.hunt import cases
from course.hunt.cases import Case


@dataclass(frozen=True)
class Repair:
    """A broken program with some of its text replaced."""

    number: int  # of the case
    name: str
    right: bool
    edits: tuple[tuple[str, str], ...]  # (old text, new text), each of which is in the program once
    in_ci: bool = False

    @property
    def case(self) -> Case:
        """The case."""
        return cases.get(self.number)

    def text(self) -> str:
        """Return the file.

        Raises:
            ValueError: an old text is not in the program once.
        """
        text = self.case.broken
        for old, new in self.edits:
            if text.count(old) != 1:
                raise ValueError(f"{self.case.label}, {self.name}: {text.count(old)} times {old!r}")
            text = text.replace(old, new)
        return text


def repairs(number: int, name: str, *, in_ci: bool = False) -> Callable[..., Repair]:
    """Return a function that makes a row of edits: a right repair of this case."""
    return lambda *edits: Repair(number, name, True, edits, in_ci)


def fails(number: int, name: str, *, in_ci: bool = False) -> Callable[..., Repair]:
    """Return a function that makes a row of edits: no repair of this case."""
    return lambda *edits: Repair(number, name, False, edits, in_ci)
