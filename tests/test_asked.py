"""Lessons and checks side by side: each item of an exercise has a check, and what a check quotes is in the lesson."""

import re

import nbformat
import pytest

from grader import checks
from grader.checks.part import POINTS

# By step and item, why no check quotes it.
NO_CHECK = {
    (101, 1): "it stands for steps 1 to 6, whose checks the capstone adopts",
    (102, 1): "it stands for steps 1 to 6 and 10, whose checks the capstone adopts",
    (103, 1): "it says what the program is",
    (103, 2): "it says what the program is",
    (103, 3): "it stands for steps 13 and 14, whose checks the capstone adopts",
    (103, 4): "it stands for step 15, whose checks the capstone adopts",
}


def prose(step):
    """Return the text of each Markdown cell of a lesson up to its hint, by the cell's id.

    A capstone has no hint: its task ends where the programs run.
    """
    texts = {}
    for cell in nbformat.read(step.notebook, as_version=4).cells:
        if cell.id == ("run" if step.is_capstone else "hint"):
            return texts
        if cell.cell_type == "markdown":
            texts[cell.id] = cell.source
    raise LookupError(f"{step.name} has no hint")


def in_one_line(text):
    return " ".join(text.split())


def items(step):
    """Return the items of the lists in a step's exercise, or the whole exercise where it has no list."""
    exercise = "\n".join(text for cell, text in prose(step).items() if cell.startswith("exercise"))
    assert exercise
    return [in_one_line(item) for item in re.split(r"(?m)^(?:\d+\.|-) ", exercise)[1:] or [exercise]]


def asked(step):
    """Return the phrases that the checks of a step quote from its lesson."""
    return [phrase for check in checks.of(step.number).of(step.number) for phrase in check.asks]


@pytest.mark.parametrize("step", checks.STEPS, ids=lambda step: step.name)
def test_what_a_check_quotes_is_in_the_lesson(step):
    lesson = in_one_line(" ".join(prose(step).values()))
    assert [phrase for phrase in asked(step) if phrase not in lesson] == []


@pytest.mark.parametrize("step", checks.STEPS, ids=lambda step: step.name)
def test_each_item_of_an_exercise_has_a_check(step):
    unchecked = {
        (step.number, number)
        for number, item in enumerate(items(step), start=1)
        if not any(phrase in item for phrase in asked(step))
    }
    assert unchecked == {item for item in NO_CHECK if item[0] == step.number}


@pytest.mark.parametrize("step", checks.STEPS, ids=lambda step: step.name)
def test_the_points_of_a_step_are_ten_together(step):
    own = checks.of(step.number).of(step.number)
    assert sum(check.points for check in own) == POINTS
    assert all(check.asks for check in own)


def test_no_two_checks_of_a_part_have_the_same_description():
    for part in checks.PARTS.values():
        assert len({check.description for check in part.checks}) == len(part.checks)
