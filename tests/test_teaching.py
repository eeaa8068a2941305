"""The page for those who teach agrees with the course: minutes and clock times, and each message that it quotes."""

import ast
import json
import re
from datetime import datetime, timedelta

import pytest

from course import steps
from course.steps import NOTEBOOKS, ROOT

PAGE = (ROOT / "docs" / "teaching.md").read_text()
BREAK = "\N{EN DASH}"  # in the place of a step
PLANS, MISTAKES = PAGE.split("## What learners get wrong")


def rows(text):
    """Return the cells of each row of the tables in a text, without heads and lines."""
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [row for row in found if not row[0].startswith(("Time", "Week", "Step", "---"))]


@pytest.mark.parametrize("row", rows(PLANS), ids=" ".join)
def test_a_plan_has_the_minutes_of_the_map(row):
    if not row[0].startswith("**") and row[1] != BREAK:
        assert int(row[2]) == sum(steps.get(name.strip()).minutes for name in row[1].split(","))


def test_each_row_of_a_day_begins_when_the_one_before_it_ends():
    day = []
    for row in rows(PLANS.partition("## A term")[0]):
        if not re.match(r"\d", row[0]) or row[0] == "09:00":
            day = []
        if re.match(r"\d", row[0]):
            begins = datetime.strptime(row[0], "%H:%M")
            assert not day or day[-1] == begins, row
            day.append(begins + timedelta(minutes=int(row[2])))


def test_each_lesson_has_a_mistake():
    assert {steps.get(row[0]) for row in rows(MISTAKES)} == set(steps.STEPS)


def texts():
    """Return all texts that the judge and the lessons can show, each without line breaks."""
    for path in [*(ROOT / "grader").rglob("*.py"), *(ROOT / "course").rglob("*.py")]:
        yield from literals(path.read_text())
    for path in NOTEBOOKS.rglob("step_*.ipynb"):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code":
                yield from literals("".join(cell["source"]))


def literals(program):
    """Return the texts in a program; what an f-string inserts is a gap."""
    try:
        nodes = ast.walk(ast.parse(program))
    except SyntaxError:  # a cell with a command of IPython
        return
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_each_message_that_is_quoted_exists():
    known = "\n".join(texts())
    assert [quote for row in rows(MISTAKES) for quote in re.findall("“(.*?)”", row[2]) if quote not in known] == []
