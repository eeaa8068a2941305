"""No forged script passes: what reading finds is for a person, and the rest is judged by what it did."""

import pytest

from course.steps import get
from grader.judge import judge
from grader.runner import reading
from grader.runner.pool import Pool
from tests.attacks.forgeries import FORGERIES

HIDDEN = [forgery for forgery in FORGERIES if not reading.read(forgery.script).suspicious]


def test_there_are_many_of_each_class_and_no_two_alike():
    assert len({forgery.script for forgery in FORGERIES}) == len(FORGERIES) >= 170
    assert {forgery.kind for forgery in FORGERIES} == {
        "recorder",
        "text",
        "data",
        "numbers",
        "witness",
        "checks",
        "items",
    }


@pytest.mark.parametrize("forgery", [each for each in FORGERIES if each not in HIDDEN], ids=str)
def test_what_goes_after_the_verdict_is_pointed_out(forgery):
    """A script that reading points out never passes; without the forged code, nothing of it is pointed out."""
    assert reading.read(forgery.script).suspicious
    assert not reading.read(get(forgery.step).starter.read_text()).suspicious


@pytest.fixture(scope="module")
def pool():
    """One pool for all."""
    with Pool() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("forgery", [each for each in HIDDEN if each.in_ci], ids=str)
def test_a_forgery_that_reading_lets_through_does_not_pass(forgery, pool, tmp_path):
    path = tmp_path / get(forgery.step).script
    path.write_text(forgery.script)
    report = judge(path, forgery.step, pool)
    assert forgery.deserves(report), report
    assert report.first_failure.message
