"""A certificate: a page that sums up the passed check of a capstone, for a person. A summary, not a signed document."""

from html import escape
from itertools import groupby

from msgspec import Struct

from course import steps
from grader.terms.report import Published

STYLE = """
body {font: 16px/1.5 sans-serif; max-width: 42em; margin: 3em auto; padding: 0 1em; color: #1f2328}
h1 {margin-bottom: 0}
h2 {font-size: 1em; margin: 1.5em 0 0}
ul {margin: 0; padding-left: 1.2em}
dt {float: left; width: 7em; color: #59636e}
dd {margin-left: 7em}
footer {margin-top: 3em; padding-top: 1em; border-top: 1px solid #d1d9e0; color: #59636e; font-size: 0.9em}
@media print {body {margin: 0 auto; font-size: 12px} section {break-inside: avoid}}
"""
SUMMARY = (
    "This page is a summary that the course made on the learner's own computer, from the last check that passed. "
    "It is not a signed document."
)


class Passed(Struct):
    """A check that passed, as it is kept."""

    report: Published
    when: str
    version: str  # of the course


def page(passed: Passed, name: str = "") -> str:
    """Return the certificate as an HTML page.

    Args:
        passed: the check.
        name: the learner's, if it is to be on the page.
    """
    report = passed.report
    step = steps.get(report.step)
    facts = {
        "Name": name,
        "Program": report.file,
        "Points": f"{report.score:g} of {report.max_score:g}",
        "Checked": passed.when,
        "Course": f"From one process to many, version {passed.version}",
    }
    listed = "".join(f"<dt>{what}</dt><dd>{escape(fact)}</dd>" for what, fact in facts.items() if fact)
    shown = "".join(
        f"<section><h2>{escape(steps.get(number).label.capitalize())}: {escape(steps.get(number).title)}</h2><ul>"
        f"{''.join(f'<li>{escape(outcome.name)}</li>' for outcome in outcomes)}</ul></section>"
        for number, outcomes in groupby(
            (outcome for outcome in report.checks if outcome.max_points), lambda outcome: outcome.step
        )
    )
    title = escape(step.label.capitalize())
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1><p>{escape(step.title)}</p><dl>{listed}</dl>"
        f"<p>The program ran on simulated clusters. There, these checks of what it did passed:</p>{shown}"
        f"<footer>{SUMMARY}</footer></body></html>\n"
    )
