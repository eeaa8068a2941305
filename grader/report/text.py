"""A report in a terminal."""

from rich.console import Console
from rich.text import Text

from grader.report.head import Head
from grader.report.marks import MARKS, verdict
from grader.terms.report import Report


def show(report: Report, console: Console) -> None:
    """Write one line per check, then the first failure in full."""
    for outcome in report.checks:
        mark, colour = MARKS[outcome.status]
        points = f"{outcome.points:g}/{outcome.max_points:g}" if outcome.max_points else ""
        line = Text(f"{mark} ", style=colour)
        line.append(f"{outcome.name}  ", style="bold" if outcome.status == "failed" else "")
        line.append(points, style="bright_black")
        console.print(line)
    failure = report.first_failure
    if failure:
        where = f" (line {failure.line})" if failure.line else ""
        console.print(Text(f"\n{failure.message}{where}"))
        if failure.hint:
            console.print(Text(f"Hint: {failure.hint}", style="cyan"))
    colour = {"passed": "green", "failed": "red"}.get(report.status, "yellow")
    console.print(Text(f"\n{verdict(report)}", style=f"bold {colour}"))


def show_head(head: Head | None, console: Console) -> None:
    """Write what goes before a report on a learner's own file."""
    if head:
        console.print(Text(f"{head}\n"))
