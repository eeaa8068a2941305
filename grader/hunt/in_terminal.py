"""The verdict on a case, in a terminal."""

from rich.console import Console
from rich.text import Text

from grader.hunt.checking import Verdict
from grader.report.marks import MARKS
from grader.terms.findings import counted

HIDDEN = "The job is not mended. Once your diagnosis is right, this says what is still wrong."


def verdict(found: Verdict, console: Console) -> None:
    """Write a line for each outcome with its message, then the points."""
    for name, outcome in zip([*found.case.fields, "repair"], found.outcomes, strict=True):
        mark, colour = MARKS[outcome.status]
        line = Text(f"{mark} ", style=colour)
        line.append(f"{name:7}", style="bold").append(f"{outcome.points:g}/{outcome.max_points:g}  ", "bright_black")
        console.print(line.append(message(found, name)))
    console.print(Text(f"\n{summary(found)}", style="bold green" if found.solved else "bold"))


def message(found: Verdict, name: str) -> str:
    """Return what is said of a field of the diagnosis, or of the repair, which would give the diagnosis away."""
    outcome = dict(zip([*found.case.fields, "repair"], found.outcomes, strict=True))[name]
    if name == "repair" and outcome.status == "failed" and not found.diagnosed:
        return HIDDEN
    return outcome.summary


def summary(found: Verdict) -> str:
    """Return the points, in a line."""
    less = f", {counted(found.hints, 'hint')} taken off" if found.hints else ""
    return f"{'Solved' if found.solved else 'Not solved yet'}: {found.score:g} of {found.max_score:g} points{less}."
