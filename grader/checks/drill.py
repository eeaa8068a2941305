"""The part of drill.toml: the diagnosis of a fault that is the learner's own, and the edits that mend the program.

The file names the fault that was drawn for the learner. Its edits are applied to the broken program, and the result is
judged by the check of the step that the program is from.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from course import steps
from course.hunt import edits
from course.hunt.cases import Case
from course.hunt.edits import Edit
from grader.checks import answer_file, diagnosed
from grader.mutants import drawn
from grader.reading.form import Form
from grader.reading.parsing import Enclosed, Source
from grader.terms.facts import NoFacts
from grader.terms.findings import Finding, Unclear, seen_and_expected
from grader.terms.runs import Runs

STEP = steps.get("drill 1")
NAMED = "seed and fault, as the lesson writes them for your name"

part = answer_file.part_of(STEP.script)


def case_of(answers: Source) -> Case | None:
    """Return the case that a file is about; None where its seed does not give its fault."""
    assert isinstance(answers, Form)
    seed, fault = answers.tables.get("seed"), answers.tables.get("fault")
    if not isinstance(seed, int) or isinstance(seed, bool):
        return None
    drawn_now = drawn.candidates(seed, drawn.OF_DRILL)
    return next((drawn.of_mutant(seed, mutant) for mutant in drawn_now if mutant.id == fault), None)


def mended(answers: Source) -> Enclosed | None:
    """Return the program after the edits; None where there is none."""
    case = case_of(answers)
    if case is None:
        return None
    assert isinstance(answers, Form)
    try:
        text = edits.applied(case.broken, msgspec.convert(answers.tables.get("edit", []), list[Edit]))
    except (ValueError, msgspec.ValidationError):
        return None
    return Enclosed(steps.get(case.judged).number, case.script, text)


part.enclosed = mended


def _diagnosed(name: str, judge: Callable[[Any, Case], tuple[bool, str]], answers: Source) -> Finding | None:
    """Compare a field of the diagnosis with the case."""
    assert isinstance(answers, Form)
    case = case_of(answers)
    if case is None:
        return Finding(seen="The file does not say which fault is yours", expected=NAMED)
    value = answers.tables.get(name, "")
    if value == "":
        return Finding(seen=f"The file has no {name} yet", expected=f"the {name} of your diagnosis")
    right, said = judge(value, case)
    return None if right else Finding(seen=said.removesuffix("."), expected=f"the {name} of the fault")


@part.check(
    STEP.number,
    points=2,
    asks=("the line of the broken program with the fault",),
    hint="Run the job, compare the ranks, and read only what the difference can come from.",
)
def line(runs: Runs[NoFacts], expected: Runs[NoFacts], source: Source) -> Finding | None:
    """The diagnosis names the line with the fault."""
    return _diagnosed("line", diagnosed.line, source)


@part.check(
    STEP.number,
    points=3,
    asks=("the kind of mistake that was made there",),
    hint="Compare the line with the same line of your own program of that step.",
)
def cause(runs: Runs[NoFacts], expected: Runs[NoFacts], source: Source) -> Finding | None:
    """The diagnosis names the kind of mistake."""
    return _diagnosed("cause", diagnosed.cause, source)


@part.check(
    STEP.number,
    points=5,
    asks=("until the job does again what it did",),
    hint="Run the job before and after your change, and compare what you measured.",
)
def repaired(runs: Runs[NoFacts], expected: Runs[NoFacts], source: Source) -> Finding | None:
    """The mended program passes the check of its step."""
    report = source.enclosed
    if report is None:
        return Finding(
            seen="The edits in the file do not fit your program", expected=f"those of hand_in(), and {NAMED}"
        )
    if report.status == "passed":
        return None
    failure = report.first_failure
    said = failure.message if failure else "the judge reached no verdict"
    if report.status == "failed":
        seen, wanted = seen_and_expected(said)
        return Finding(seen=f"The mended program: {seen}", expected=wanted or "it passes the check of its step")
    return Unclear(seen=said)
