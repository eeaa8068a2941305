"""The files for Moodle and Canvas: each is read here by the rules of that platform's own import."""

import csv
from types import SimpleNamespace

import pytest
from nbgrader.api import MissingEntry

from grader.classroom.platforms import PLATFORMS, Canvas, Moodle


def student(id, first_name=None, last_name=None, email=None, lms_user_id=None):
    return SimpleNamespace(id=id, first_name=first_name, last_name=last_name, email=email, lms_user_id=lms_user_id)


def submission(score, needs_manual_grade=False, late_submission_penalty=0.0):
    penalty = late_submission_penalty
    return SimpleNamespace(score=score, needs_manual_grade=needs_manual_grade, late_submission_penalty=penalty)


class Gradebook:
    """What the exports use of nbgrader's gradebook; tests/grader/classroom/test_classroom.py has a real one."""

    def __init__(self):
        self.students = [
            student("alice", "Alice", "Ångström, Dr.", "a@uni.example", "101"),
            student("bob", "Bob", "Baker", "b@uni.example", "102"),
            student("carol", "Carol", "Çelik", "c@uni.example", "103"),
            student("dave", "Dave", "Dunn", "d@uni.example", "104"),
        ]
        self.assignments = [SimpleNamespace(name=name, max_score=12.0) for name in ("step_03", "step_04")]
        # Dave hands nothing in.
        self.submissions = {"alice": submission(12.0), "bob": submission(2.333), "carol": submission(5.0, True)}

    def find_submission(self, assignment, learner):
        if assignment != "step_03" or learner not in self.submissions:
            raise MissingEntry
        return self.submissions[learner]


@pytest.fixture
def gradebook():
    return Gradebook()


@pytest.fixture
def exported(gradebook, tmp_path):
    """Return a function that exports, and returns the plugin and the rows of its file."""

    def export(platform, assignments=("step_03",)):
        plugin = platform()
        plugin.to, plugin.assignment = str(tmp_path / "grades.csv"), list(assignments)
        plugin.export(gradebook)
        with (tmp_path / "grades.csv").open(encoding="utf-8", newline="") as file:
            return plugin, list(csv.reader(file))

    return export


def moodle_imports(rows, column):
    """Return the marks that Moodle reads, by the identifier in a column; a row without one is the row's before."""
    learner, marks = None, {}
    for row in rows[1:]:
        learner = row[rows[0].index(column)] or learner
        assert row[-1] == "-" or float(row[-1]) >= 0
        marks[learner] = None if row[-1] == "-" else float(row[-1])
    return marks


def canvas_imports(rows, users):
    """Return the marks that Canvas reads by its number of a user, whom it finds by number, SIS id or login."""
    header, possible, *learners = rows
    assert "Student" in header[0] and "ID" in header[1] and header[2:5] == ["SIS User ID", "SIS Login ID", "Section"]
    assert "Points Possible" in possible[0] and float(possible[5]) > 0
    marks = {}
    for name, number, sis, login, _, *cells in learners:
        found = [user for user in users if number and user["number"] == number]
        found = found or [user for user in users if sis and user["sis"] == sis]
        found = found or [user for user in users if user["login"] == login] or [{"number": f"new: {name}"}]
        marks[found[0]["number"]] = float(cells[0]) if cells[0] else None
    return marks


IDENTIFIERS = [("Username", "id"), ("ID number", "lms_user_id"), ("Email address", "email")]


@pytest.mark.parametrize(("column", "field"), IDENTIFIERS)
def test_moodle_finds_every_learner_by_each_identifier(exported, gradebook, column, field):
    _, rows = exported(Moodle)
    learners = [getattr(student, field) for student in gradebook.students]
    assert moodle_imports(rows, column) == dict(zip(learners, [12, 2.33, None, None], strict=True))
    assert rows[0][-1] == "step_03", "a new item of Moodle's gradebook gets this name"


def test_moodle_gets_no_identifier_that_a_learner_lacks(exported, gradebook):
    gradebook.students[1].email, gradebook.students[2].lms_user_id = None, " "
    _, rows = exported(Moodle)
    assert rows[0] == ["First name", "Last name", "Username", "step_03"]
    assert len(moodle_imports(rows, "Username")) == len(gradebook.students)


def test_canvas_finds_every_learner(exported):
    users = [{"number": str(101 + index), "sis": "", "login": f"x{index}"} for index in range(4)]
    _, rows = exported(Canvas)
    assert canvas_imports(rows, users) == {"101": 12, "102": 2.33, "103": None, "104": None}
    assert [row[0] for row in rows[2:]] == ["Ångström, Dr., Alice", "Baker, Bob", "Çelik, Carol", "Dunn, Dave"]
    assert rows[1][5] == "12"


def test_canvas_finds_learners_of_a_roster_without_its_numbers(exported, gradebook):
    for each in gradebook.students:
        each.lms_user_id = "S-7" if each.id == "bob" else None
    users = [{"number": "1", "sis": "", "login": "alice"}, {"number": "2", "sis": "S-7", "login": "x"}]
    marks = canvas_imports(exported(Canvas)[1], users)
    assert (marks["1"], marks["2"]) == (12, 2.33)


@pytest.mark.parametrize("platform", PLATFORMS.values())
def test_who_waits_for_a_person_has_no_mark_and_is_named(exported, platform):
    plugin, _ = exported(platform)
    assert plugin.waiting == ["carol"]


@pytest.mark.parametrize("platform", PLATFORMS.values())
def test_all_assignments_are_exported_where_none_is_named(exported, platform):
    assert exported(platform, ())[1][0][-2:] == ["step_03", "step_04"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(1)", " =1", "\t=1", "\r\n=1", '=HYPERLINK("//a","b")'])
@pytest.mark.parametrize("platform", PLATFORMS.values())
def test_a_name_that_is_a_formula_is_text_in_a_spreadsheet(exported, gradebook, platform, name):
    gradebook.students.append(student(name, name, name, name, name))
    _, rows = exported(platform)
    assert len(rows) == len(gradebook.students) + (2 if platform is Canvas else 1), "no line of a name is a row"
    cells = [cell for row in rows for cell in row[: rows[0].index("step_03")]]
    assert not any(cell.strip().startswith(("=", "+", "-", "@")) for cell in cells)


def test_a_late_submission_has_its_penalty(exported, gradebook):
    gradebook.submissions["alice"] = submission(12.0, late_submission_penalty=5.0)
    assert moodle_imports(exported(Moodle)[1], "Username")["alice"] == 7
