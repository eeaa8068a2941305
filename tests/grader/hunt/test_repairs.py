"""Repairs under the judge: right ones pass, others fail. scripts/bench judges all rows."""

import pytest

from course.hunt import cases
from grader.hunt import repair
from grader.runner.pool import Pool
from tests.corpus.repairs import REPAIRS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Return a function that judges a file of a case."""
    with Pool() as pool:

        def judge(case, text):
            path = tmp_path_factory.mktemp("repair") / case.script
            path.write_text(text)
            return repair.judge(path, case, pool).status

        yield judge


@pytest.mark.parametrize("row", [row for row in REPAIRS if row.in_ci], ids=lambda row: f"{row.number}: {row.name}")
def test_a_row_is_judged_right(judged, row):
    assert judged(row.case, row.text()) == ("passed" if row.right else "failed")


@pytest.mark.parametrize("number", [1])
def test_a_broken_program_fails_and_its_undoing_passes(judged, number):
    case = cases.get(number)
    assert judged(case, case.broken) == "failed"
    assert judged(case, case.works) == "passed"
