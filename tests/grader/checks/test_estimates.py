"""Step 23: numbers in other words pass, and a wrong one is met with its mistake, and not with the right number."""

import pytest

from course.steps import get
from grader.judge import judge
from tests.corpus import CORRECT, WRONG

STEP = get(23)


def judged(tmp_path, text):
    path = tmp_path / STEP.script
    path.write_bytes(text.encode())
    return judge(path, STEP.number, pool=None)  # nothing is run


@pytest.mark.parametrize("row", [*CORRECT["estimates"], *WRONG["estimates"]], ids=lambda row: row.name)
def test_estimates_get_the_report_that_they_deserve(row, tmp_path):
    report = judged(tmp_path, row.text())
    assert row.deserves(report), (report.status, report.first_failure)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("= 249.8", "= 31.2", "A byte has 8 bits."),
        ("= 249.8", "= 0.2498", "The digits are right. The unit is ms."),
        ("energy = 45.38", "energy = 29.25", "one GPU alone"),
        ("seed = 1", "seed = -1", "seed = -1 is not valid."),
        ("[answers]", "[estimates]", "The file has no table [answers], and has [estimates]."),
    ],
)
def test_a_mistake_is_named(old, new, message, tmp_path):
    found = judged(tmp_path, STEP.solution.read_text().replace(old, new)).first_failure
    assert message in found.message and "249.8" not in found.message
