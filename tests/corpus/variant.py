"""A row of the corpus: a script that a learner could hand in, an edit of a solution, and its correct verdict."""

from collections.abc import Callable
from dataclasses import dataclass

from course import steps
from course.steps import SOLUTIONS
from grader import checks
from grader.terms.report import Report

FIRST_IMPORT = "import argparse\n"  # of most solutions


@dataclass(frozen=True)
class Variant:
    """A solution with some of its text replaced."""

    name: str
    step: int  # that it is judged at
    edits: tuple[tuple[str, str], ...]  # (old text, new text): every occurrence is replaced, in this order
    fails: int | None = None  # the step whose check is the first to fail; 0: the program does not run; None: it passes
    base: str = ""  # the solution's file name; without one, the solution of the step
    check: str = ""  # the name of that check's function, where a step has several
    in_ci: bool = False  # whether tests/test_judge.py judges it; scripts/bench judges every row

    def text(self) -> str:
        """Return the script.

        Raises:
            ValueError: an old text is not in the program.
        """
        path = SOLUTIONS / (self.base or steps.get(self.step).solution_name)
        text = path.read_text()
        for old, new in self.edits:
            if old not in text:
                raise ValueError(f"{self.name}: {path.name} has no {old!r}")
            text = text.replace(old, new)
        return text

    def deserves(self, report: Report) -> bool:
        """Return whether a report gives the script its correct verdict."""
        if report.status != ("passed" if self.fails is None else "failed") or first_failing(report) != self.fails:
            return False
        return not self.check or report.first_failure.name == _description(self.step, self.check)


def right(step: int, name: str, *, base: str = "", in_ci: bool = False) -> Callable[..., Variant]:
    """Return a function that makes a row of edits: a script that passes, by edits of the step's solution or of base."""
    return lambda *edits: Variant(name, step, edits, base=base, in_ci=in_ci)


def wrong(
    step: int, name: str, *, fails: int | None = None, check: str = "", base: str = "", in_ci: bool = False
) -> Callable[..., Variant]:
    """Return a function that makes a row of edits: a script that fails, at its own step where no other is named."""
    return lambda *edits: Variant(name, step, edits, step if fails is None else fails, base, check, in_ci)


def first_failing(report: Report) -> int | None:
    """Return the step of the first failing check, 0 for the check that the program runs."""
    failure = report.first_failure
    return None if failure is None else failure.step if failure.max_points else 0


def _description(step: int, function: str) -> str:
    """Return the description of a check, by the name of its function."""
    return next(check.description for check in checks.of(step).checks if check.judge.__name__ == function)


def passage(solution: str, first: str, last: str = "") -> str:
    """Return whole lines of a solution: the one that contains `first`, and those up to the next that contains `last`.

    The wording of comments and messages in these lines may change without a change of the corpus.

    Raises:
        ValueError: no line contains `first`, or more than one, or no line after it contains `last`.
    """
    path = SOLUTIONS / solution
    lines = path.read_text().splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if first in line]
    if len(starts) != 1:
        raise ValueError(f"{path.name} has {len(starts)} lines with {first!r}, not one")
    for end in range(starts[0], len(lines)):
        if last in lines[end]:
            return "".join(lines[starts[0] : end + 1])
    raise ValueError(f"{path.name} has no line with {last!r} after the one with {first!r}")


def section(solution: str, title: str) -> str:
    """Return the lines of a solution below the comment `--- title ---`, up to the next comment of this kind."""
    _, found, below = (SOLUTIONS / solution).read_text().partition(f"# --- {title} -")
    if not found:
        raise ValueError(f"{solution} has no section {title!r}")
    return below.partition("\n")[2].partition("\n# --- ")[0].strip() + "\n"


def importing(*lines: str) -> tuple[str, str]:
    """Return an edit that adds these imports."""
    return FIRST_IMPORT, "".join(f"{line}\n" for line in (FIRST_IMPORT.strip(), *lines))


def after(old: str, new: str) -> tuple[str, str]:
    """Return an edit that adds text after a passage."""
    return old, old + new


def before(old: str, new: str) -> tuple[str, str]:
    """Return an edit that adds text in front of a passage."""
    return old, new + old
