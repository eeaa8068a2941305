"""What is judged alike in all files of answers: that they are valid, and that each field is there."""

from collections.abc import Sequence

from grader.checks.part import Part
from grader.reading import form
from grader.reading.form import Form
from grader.terms.facts import NoFacts
from grader.terms.findings import Finding, Untold, listed
from grader.terms.report import Outcome
from grader.terms.runs import Runs

WHOLE = "The file is valid TOML"


def part_of(script: str) -> Part[NoFacts]:
    """Return the part of a file of answers, which is not run."""
    not_run = Untold(seen="the file is not valid").message
    return Part(script, NoFacts, read=form.read, ended=_ended, whole=WHOLE, not_run=not_run)


def _ended(runs: Runs[NoFacts], step: int, seconds: float, text: str) -> Outcome:
    """Return the outcome for a file that could be read."""
    return Outcome(WHOLE, step, "passed", 0, 0, "Correct.", "", None)


def missing(
    answers: Form, table: str, name: str, wanted: str, *, tables: Sequence[str], fields: Sequence[str]
) -> Finding | None:
    """Return a Finding where a field is not there, or empty.

    Args:
        answers: the file.
        table: the field's.
        name: the field's.
        wanted: what the field is for.
        tables: of the file.
        fields: of the table.
    """
    found = answers.table(table)
    if found is None:
        other = answers.other_table(tuple(tables))
        has = f", and has [{other[0]}]" if other else ""
        line = other[1] if other else len(answers.text.splitlines())
        expected = f"[{table}], with {listed(fields)}"
        return Finding(seen=f"The file has no table [{table}]{has}", expected=expected, line=line)
    if found.get(name, "") in ("", []):
        return Finding(seen=f"[{table}] has no {name} yet", expected=wanted, line=answers.line_in(table, name))
    return None
