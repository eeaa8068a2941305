"""Mutants: the solutions, each with one mistake where its step changes the program.

scripts/bench judges all of them, and the hunt makes cases of them.
"""

import ast
import functools
import hashlib
import warnings
from dataclasses import dataclass

from course.steps import Step
from grader.mutants import statements  # noqa: F401  it adds its own to MUTATORS
from grader.mutants.mutators import MUTATORS
from grader.mutants.program import Program


@dataclass(frozen=True)
class Mutant:
    """A solution with one mistake."""

    step: int
    mutator: str  # that made it
    line: int  # of the solution
    before: str  # the lines that change
    after: str  # what they become, or in parentheses what happens to them
    text: str  # the whole program

    @property
    def id(self) -> str:
        """A short name that stays the same as long as the lines that change do."""
        digest = hashlib.sha256(f"{self.before}\n{self.after}".encode()).hexdigest()
        return f"{self.step:02d}-{self.mutator.replace(' ', '-')}-{digest[:8]}"

    @property
    def key(self) -> tuple[int, str, str]:
        """What names the mutant in the list of equivalents."""
        return self.step, self.before, self.after

    def __str__(self) -> str:
        """Return what was changed, in one line."""
        return f"step {self.step}, line {self.line}, {self.mutator}: {self.before} → {self.after}"


@functools.cache
def of(step: Step) -> tuple[Mutant, ...]:
    """Return the mutants of a step's solution: valid programs, all different from it and from each other."""
    program = Program.of(step)
    return tuple(_different(step.number, program))


def _different(number: int, program: Program) -> list[Mutant]:
    seen, mutants = {ast.dump(program.tree)}, []
    for name, make in MUTATORS.items():
        for edit in make(program):
            shape = _shape(edit.text)
            if shape and shape not in seen:
                seen.add(shape)
                mutants.append(Mutant(number, name, edit.line, edit.before, edit.after, edit.text))
    return mutants


def _shape(text: str) -> str | None:
    """Return what a program says without its comments and its formatting, or None where it is not valid Python."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(text, "mutant", "exec")
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return None
