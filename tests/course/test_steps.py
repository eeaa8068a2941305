"""The registry of steps."""

import pytest

from course import steps

LAST = [step.number for step in steps.STEPS if not step.has_name][-1]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,2,5", [1, 2, 5]),
        ("2-4", [2, 3, 4]),
        ("0,3-4, 7", [0, 3, 4, 7]),
        ("5,1,1", [1, 5]),
        ("capstone_1, 2", [2, 101]),
        ("step_02-4", [2, 3, 4]),
        ("capstone 1, 2", [2, 101]),
        ("5-7", [5, 6, 206, 7]),
        ("6b", [206]),
        ("7,6B,6", [6, 206, 7]),
    ],
)
def test_lists_of_steps_are_read(text, numbers):
    assert [step.number for step in steps.parse(text)] == numbers


def test_all_means_all():
    assert steps.parse("all") == list(steps.STEPS)


@pytest.mark.parametrize("text", ["", "x", "1,", "3-1", "-2", "1-", "1.5", "capstone_9", "5b"])
def test_what_is_no_list_is_refused(text):
    with pytest.raises(ValueError, match="names no steps"):
        steps.parse(text)


def test_what_a_person_types_stands_for_a_step(step):
    typed = (step.number, str(step.number), step.label, step.label.capitalize(), step.short_label, step.name)
    assert {steps.get(each) for each in typed} == {step}
    assert {steps.number(str(each)) for each in typed} == {step.number}


def test_a_number_that_is_no_step_is_left_to_the_judge_and_a_text_is_refused():
    assert [steps.number(text) for text in ("06", "99")] == [6, 99]
    with pytest.raises(ValueError, match="is not a step"):
        steps.number("capstone")


def test_a_step_that_does_not_exist_is_refused():
    with pytest.raises(KeyError, match="There is no step 99"):
        steps.parse("1,99")


@pytest.mark.parametrize(("typed", "named"), [(99, "step 99"), ("99", "step 99"), ("capstone_9", "capstone 9")])
def test_a_message_names_what_was_typed_and_what_there_is(typed, named):
    with pytest.raises(KeyError, match=f"There is no {named}. There are steps 0 to {LAST} and capstones 1 to 3."):
        steps.get(typed)


def test_an_interlude_is_a_lesson_between_two_others():
    interlude = steps.get("6b")
    assert (interlude.name, interlude.label, interlude.is_capstone) == ("step_06b", "step 6b", False)
    assert steps.after(steps.get(6)) == interlude and steps.after(interlude) == steps.get(7)


def test_every_step_has_its_files(step):
    assert step.notebook.is_file() and step.starter.is_file() and step.solution.is_file()
