"""Names of downloads from a learning platform: whose they are, and which file of which assignment."""

import re
from pathlib import Path

import pytest

from course.steps import STEPS
from grader.classroom import intake

SCRIPTS = sorted({Path(step.script).name for step in STEPS if step.has_exercise})


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_script_of_each_exercise_is_taken(script):
    for name in (f"alice_{script}", f"alice_late/{script}"):
        found = re.match(intake.NAMES, f"downloaded/extracted/{name}")
        assert found and found["student_id"] == "alice" and found["file_id"] == Path(script).stem
    assert Path(script).suffix in intake.SUFFIXES
