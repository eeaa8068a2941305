"""The registry of steps."""

import pytest

from course import steps


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,2,5", [1, 2, 5]),
        ("2-4", [2, 3, 4]),
        ("0,3-4, 7", [0, 3, 4, 7]),
        ("5,1,1", [1, 5]),
        ("capstone_1, 2", [2, 101]),
        ("step_02-4", [2, 3, 4]),
    ],
)
def test_lists_of_steps_are_read(text, numbers):
    assert [step.number for step in steps.parse(text)] == numbers


def test_all_means_all():
    assert steps.parse("all") == list(steps.STEPS)


@pytest.mark.parametrize("text", ["", "x", "1,", "3-1", "-2", "1-", "1.5", "capstone_9"])
def test_what_is_no_list_is_refused(text):
    with pytest.raises(ValueError, match="names no steps"):
        steps.parse(text)


def test_a_number_or_a_name_stands_for_a_step():
    assert [steps.number(text) for text in ("3", "step_03", "capstone_1", "99")] == [3, 3, 101, 99]
    with pytest.raises(ValueError, match="is not a step"):
        steps.number("capstone")


def test_a_step_that_does_not_exist_is_refused():
    with pytest.raises(KeyError, match="There is no step 99"):
        steps.parse("1,99")


def test_every_step_has_its_files(step):
    assert step.notebook.is_file() and step.starter.is_file() and step.solution.is_file()
