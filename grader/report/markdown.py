"""A report as Markdown: a summary for a page that renders it, such as that of a job on GitHub."""

import re
from html import escape

from grader.report.marks import MARKS, verdict
from grader.terms.report import Report


def page(report: Report) -> str:
    """Return the verdict, a table of the checks, and the first failure in full with its hint."""
    rows = [f"### {verdict(report)}", "", "| | Check | Points |", "| --- | --- | --- |"]
    for outcome in report.checks:
        points = f"{outcome.points:g} / {outcome.max_points:g}" if outcome.max_points else ""
        name = escape(outcome.name).replace("|", "&#124;")
        rows.append(f"| {MARKS[outcome.status][0]} | {name} | {points} |")
    failure = report.first_failure
    if failure:
        where = f" (line {failure.line})" if failure.line else ""
        hint = f"\nHint: {failure.hint}" if failure.hint else ""
        rows += ["", as_text(f"{failure.message}{where}{hint}")]
    return "\n".join(rows) + "\n"


def as_text(source: str) -> str:
    """Return Markdown that shows a text unchanged, so that a browser runs nothing of it."""
    fence = "~" * (3 + max(map(len, re.findall("~+", source)), default=0))
    return f"{fence}text\n{source}\n{fence}"
