"""The part of diagnosis.toml, step 6b: for each job that hangs, the rank, the line and the collective.

The file is not run. Its answers are compared with those of the solution, which tests find in the evidence of real runs.
"""

import ast
import functools
import re
import tomllib
from typing import Any

from course import steps
from grader.checks import answer_file
from grader.reading.form import Form, line_of, rank_of
from grader.reading.parsing import Source
from grader.terms.facts import NoFacts
from grader.terms.findings import Finding, listed
from grader.terms.runs import Runs

STEP = steps.get("6b")
JOBS = ("job_1", "job_2", "job_3")
COLLECTIVES = ("allreduce", "allgather", "broadcast", "alltoall", "reducescatter", "barrier")
ASKED = {  # by field: what it is, as the lesson asks for it
    "rank": "the rank that the others wait for",
    "line": "the line of the program in which that rank is meanwhile",
    "collective": "the collective in which the others wait",
}
TWO_WAIT = "Two collectives wait for each other there. The one of most ranks is asked for."
HINTS = {
    "job_1": {
        "rank": "Compare the lines under the last “Missing ranks”: most name the same tensors, and one names others.",
        "line": "The lines of most ranks name the collective in which the odd rank waits. Where is it called?",
        "collective": f"The tensors that the odd rank has not submitted have their operation in their name. {TWO_WAIT}",
    },
    "job_2": {
        "rank": "In the figure of the timeline, look at the end: which rank waits alone, and which wait together?",
        "line": "The figure names the collective in which the odd rank waits. Which line calls it on that rank only?",
        "collective": f"In the figure, the hatched bars name the collective of each rank. {TWO_WAIT}",
    },
    "job_3": {
        "rank": "Compare the stacks: most ranks are in a collective, and one is not.",
        "line": "The stack of that rank has a line of job_3.py. It is in no collective.",
        "collective": "The stacks of the waiting ranks name a function of Horovod's, and so does the stall warning.",
    },
}


part = answer_file.part_of(STEP.script)


@functools.cache
def _solution() -> dict[str, Any]:
    return tomllib.loads(STEP.solution.read_text())


def collectives_of(value: Any) -> list[str]:
    """Return the operations that an answer names, such as "allreduce", "hvd.Allreduce()" or "HorovodBroadcast"."""
    text = re.sub(r"[^a-z]", "", value.lower()) if isinstance(value, str) else ""
    return [name for name in COLLECTIVES if name in text]


def same_place(program: str, line: int) -> set[int]:
    """Return the lines of a program that name the same place as this one.

    They are those of its statement, of the `if` or `while` that it is in, and of those that call its function.
    """
    tree = ast.parse(program)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    holding = [node for node in statements if node.lineno <= line <= (node.end_lineno or 0)]
    functions = {node.name for node in holding if isinstance(node, ast.FunctionDef)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) in functions]
    places: list[ast.AST] = [min(holding, key=lambda node: (node.end_lineno or 0) - node.lineno), *calls]
    lines: set[int] = set()
    for place in places:
        while not isinstance(place, ast.stmt) or isinstance(parents[place], ast.If | ast.While):
            place = parents[place]
        lines |= set(range(place.lineno, (place.end_lineno or 0) + 1))
    return lines


def _wrong(job: str, name: str, value: Any) -> str | None:
    """Return what is wrong with an answer, in words; None if it is right."""
    right = _solution()[job][name]
    if name == "collective":
        named = collectives_of(value)
        if len(named) != 1:
            return f"names {listed(named)}" if named else f"names none of {', '.join(COLLECTIVES)}"
        return None if named == collectives_of(right) else "is not the one"
    number = rank_of(value) if name == "rank" else line_of(value)
    if number is None:
        return "is not a number"
    if name == "rank":
        return None if number == right else "is not the one"
    program = STEP.solution.with_name(f"{job}.py").read_text()
    last = len(program.splitlines())
    if not 1 <= number <= last:
        return f"is outside of {job}.py, which has {last} lines"
    return None if number in same_place(program, right) else "is not the place"


def _judge(job: str, name: str, form: Form) -> Finding | None:
    """Compare one answer with the solution's."""
    if missing := answer_file.missing(form, job, name, ASKED[name], tables=JOBS, fields=list(ASKED)):
        return missing
    value = form.tables[job][name]
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    wrong = _wrong(job, name, value)
    return (
        Finding(seen=f"[{job}] {name} = {shown[:60]} {wrong}", expected=ASKED[name], line=form.line_in(job, name))
        if wrong
        else None
    )


def _add(job: str, name: str) -> None:
    """Add the check of one field of one job."""

    def judge(runs: Runs[NoFacts], expected: Runs[NoFacts], source: Source) -> Finding | None:
        assert isinstance(source, Form)
        return _judge(job, name, source)

    judge.__name__ = f"{job}_{name}"  # names its cell in the gradebook
    judge.__doc__ = f"Job {job[-1]}: {ASKED[name]}."
    points = 2 if (job, name) == ("job_3", "line") else 1  # no message of Horovod's leads to that one
    part.check(STEP.number, asks=(ASKED[name],), hint=HINTS[job][name], points=points)(judge)


for _job in JOBS:
    for _name in ASKED:
        _add(_job, _name)
