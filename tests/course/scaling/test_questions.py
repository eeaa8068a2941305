"""Step 23's questions: for any seed, each answer is what it should be, and the committed files are those of seed 1."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.scaling import questions
from course.steps import get

STEP = get(23)
seeds = st.integers(0, 10**6)


@given(seeds)
def test_a_seed_always_asks_the_same(seed):
    assert questions.draw(seed) == questions.draw(seed)
    assert [each.name for each in questions.draw(seed)] == [each.name for each in questions.draw(1)]


@given(seeds)
def test_an_answer_may_be_off_by_two_percent_unless_it_is_exact(seed):
    for question in questions.draw(seed):
        assert question.answer > 0 and question.accepts(question.answer)
        assert question.accepts(1.015 * question.answer) == (not question.exact)
        assert not question.accepts(1.03 * question.answer)


@given(seeds)
def test_the_cheapest_number_of_gpus_is_the_smallest_that_is_fast_enough(seed):
    asked = next(each for each in questions.draw(seed) if each.name == "gpus")
    rate, gigabits, megabytes = (
        float(re.search(pattern, asked.text)[1])
        for pattern in (r"trains (\d+) images", r"has (\d+) Gbit", r"(\d+) MB of gradients")
    )
    epochs, limit = (
        int(re.search(r"(\d+) epochs", asked.text)[1]),
        float(re.search(r"within ([\d.]+) hours", asked.text)[1]),
    )

    def hours(gpus):  # by hand, from the numbers in the question
        compute, communication = 64 / rate, 2 * (gpus - 1) / gpus * megabytes * 8e6 / (gigabits * 1e9)
        step = compute + max(0, communication - compute / 2)
        return 1281167 / (64 * gpus) * epochs * step / 3600

    assert hours(asked.answer) <= 1.02 * limit
    assert hours(asked.answer / 2) > 1.02 * limit


def test_the_files_are_those_of_seed_1():
    solution, starter = (tomllib.loads(path.read_text()) for path in (STEP.solution, STEP.starter))
    assert solution["seed"] == starter["seed"] == 1
    drawn = {question.name: question for question in questions.draw(1)}
    assert list(drawn) == list(solution["answers"]) == list(starter["answers"])
    assert all(drawn[name].accepts(number) for name, number in solution["answers"].items())
    assert not any(starter["answers"].values())


def test_a_way_is_shown_for_each_right_answer_only(capsys):
    questions.show_ways(STEP.solution)
    assert capsys.readouterr().out.endswith("6 of 6 answers are right.\n")
    questions.show_ways(STEP.starter)
    assert capsys.readouterr().out == "0 of 6 answers are right.\n"


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (26.3, 26.3),
        ("26.3 %", 26.3),
        ("1,100", 1100),
        ("1_100.5", 1100.5),
        ("2e3 kWh", 2000),
        ("26,3", None),
        ("12,345.6 ms", 12345.6),
        (True, None),
        ("no", None),
    ],
)
def test_a_number_is_read(value, number):
    assert questions.number_of(value) == number
