"""The scripts that lessons show in exercises of another kind, as rows: one of three is wrong, or one is to be repaired.

Which one of three is wrong is what the lesson's own answer says.
"""

import re
from dataclasses import dataclass

import nbformat

from course import puzzle, steps
from grader import checks
from tests.corpus.variant import Variant


@dataclass(frozen=True)
class Shown(Variant):
    """A script of a lesson; its name begins with that of the script."""

    def text(self) -> str:
        """Return the script."""
        return puzzle.text(self.step, self.name.partition(".")[0])


def rows() -> dict[str, tuple[Shown, ...]]:
    """Return the scripts, by part."""
    found = {part: list[Shown]() for part in checks.PARTS}
    for step, names in puzzle.SCRIPTS.items():
        wrong = _wrong(step)
        if wrong not in names:
            raise ValueError(f"The lesson of step {step} takes {wrong}.py for wrong, and does not show it.")
        part = next(name for name, part in checks.PARTS.items() if part is checks.of(step))
        found[part] += [
            Shown(f"{name}.py of step {step}", step, (), step if name == wrong else None, in_ci=name == puzzle.REPAIR)
            for name in names
        ]
    return {part: tuple(of) for part, of in found.items()}


def _wrong(step: int) -> str:
    """Return the name of the wrong script, from the lesson's answer; one to repair stands alone."""
    if puzzle.REPAIR in puzzle.SCRIPTS[step]:
        return puzzle.REPAIR
    cells = nbformat.read(steps.get(step).notebook, as_version=4).cells
    answer = next(cell.source for cell in cells if cell.id == "puzzle-solution")
    named = re.search(r"`(\w)\.py`", answer)
    return named[1] if named else ""
