"""A report as HTML: for a notebook, and for the feedback on a submission."""

from html import escape

from course.internal import colours
from grader.report.head import Head
from grader.report.marks import MARKS, verdict
from grader.terms.report import Outcome, Report

COLOURS = {"green": colours.GREEN, "red": colours.RED, "bright_black": colours.GREY, "yellow": colours.YELLOW}


def of_outcome(outcome: Outcome) -> str:
    """Return what one check found."""
    mark, colour = MARKS[outcome.status]
    text = f'<p><span style="color:{COLOURS[colour]}">{mark}</span> {escape(outcome.summary)}</p>'
    if outcome.hint:
        text += f"<p>Hint: {escape(outcome.hint)}</p>"
    return text


def of_head(head: Head | None) -> str:
    """Return what goes before a report on a learner's own file."""
    return f"<p>{escape(str(head))}</p>" if head else ""


def page(report: Report, figure: str) -> str:
    """Return a line per check, then the first failure in full, with its figure, which is SVG."""
    rows = []
    for outcome in report.checks:
        mark, colour = MARKS[outcome.status]
        points = f"{outcome.points:g} / {outcome.max_points:g}" if outcome.max_points else ""
        rows.append(
            f'<tr><td style="color:{COLOURS[colour]}">{mark}</td>'
            f'<td style="text-align:left">{escape(outcome.name)}</td><td>{points}</td></tr>'
        )
    failure, shown = report.first_failure, ""
    if failure:
        traceback = failure.message.partition("\n")[2]
        shown = f"<p><b>{escape(failure.summary)}</b></p>"
        shown += f"<pre>{escape(traceback)}</pre>" if traceback else ""
        shown += figure
        if failure.hint:
            shown += f"<details><summary>Hint</summary>{escape(failure.hint)}</details>"
    return f"<table>{''.join(rows)}</table>{shown}<p>{verdict(report)}</p>"
