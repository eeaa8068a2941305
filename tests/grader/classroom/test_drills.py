"""A drill with a class: each learner's own fault, from release to the summary."""

import pytest

from course import steps
from grader.classroom import drills
from tests.corpus import CORRECT, WRONG
from tests.school import School

DRILL = steps.get("drill 1")
RIGHT = CORRECT["drill"][0].text()
UNNAMED = next(row for row in WRONG["drill"] if row.check == "cause").text()


def test_what_a_class_does_not_diagnose_is_counted_by_the_kind_of_mistake():
    named = {"checks": [{"name": check.description, "status": "passed"} for check in drills.drill.part.checks]}
    missed = {"checks": [each | {"status": "failed"} for each in named["checks"]]}
    handed_in = [(RIGHT.encode(), named), (UNNAMED.encode(), missed), (b"\xff", missed), (None, missed)]
    assert drills.undiagnosed(handed_in) == ["peeled: 1 of 2"]


@pytest.mark.slow
def test_a_drill_is_graded_as_other_assignments_are(tmp_path):
    school = School(tmp_path)
    school.run("generate_assignment", DRILL.name)
    assert (school.course / "release" / DRILL.name / DRILL.script).read_text() == DRILL.starter.read_text()
    school.submit("alice", DRILL, RIGHT)
    school.submit("bob", DRILL, UNNAMED)
    done = school.grade(DRILL)
    assert done.returncode == 0, done.stderr
    assert school.points("alice", DRILL) == (10, False)
    assert school.points("bob", DRILL) == (7, False)
    assert "peeled: 1 of 2" in done.stdout
