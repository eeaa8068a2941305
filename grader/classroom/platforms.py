"""The marks of a class for a learning platform: nbgrader's export, as the CSV file that Moodle or Canvas imports.

nbgrader's own command takes these, too: nbgrader export --exporter=grader.classroom.platforms.Moodle
"""

import csv
from pathlib import Path

from nbgrader.api import Assignment, Gradebook, MissingEntry, Student
from nbgrader.plugins import ExportPlugin

FORMULA = "=", "+", "-", "@"  # a spreadsheet takes a cell for a formula if it begins with one of these
MOODLE_NAMES = {"first_name": "First name", "last_name": "Last name"}  # headers of nbgrader's fields
MOODLE_IDENTIFIERS = {"id": "Username", "lms_user_id": "ID number", "email": "Email address"}


def as_text(cell: str | None) -> str:
    """Return a cell that a spreadsheet shows as text, also if a learner chose a name that is a formula."""
    text = " ".join((cell or "").split())
    return f"'{text}" if text.startswith(FORMULA) else text


def mark(gradebook: Gradebook, assignment: Assignment, student: Student) -> float | None:
    """Return a learner's points, less the penalty for being late; None if there is no submission.

    Raises:
        ValueError: a person has yet to decide on a part of it.
    """
    try:
        found = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return None
    if found.needs_manual_grade:
        raise ValueError(f"{student.id} waits for a person")
    return round(max(0.0, found.score - found.late_submission_penalty), 2)


class Platform(ExportPlugin):
    """An export with one row per learner of the gradebook, and one column of points per assignment."""

    no_mark = ""  # what the platform itself exports for a learner without a mark

    def export(self, gradebook: Gradebook) -> None:
        """Write the file. Afterwards, waiting holds the ids of learners that a person has to grade first."""
        self.waiting: list[str] = []
        students = list(gradebook.students)
        assignments = [each for each in gradebook.assignments if each.name in self.assignment or not self.assignment]
        rows = self.head(students, assignments)
        for student, named in zip(students, self.learners(students), strict=True):
            rows.append([*named, *(self._cell(gradebook, assignment, student) for assignment in assignments)])
        target = Path(self.to or f"grades-{type(self).__name__.lower()}.csv")
        with target.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def _cell(self, gradebook: Gradebook, assignment: Assignment, student: Student) -> str:
        try:
            points = mark(gradebook, assignment, student)
        except ValueError:
            self.waiting.append(student.id)
            return self.no_mark
        return self.no_mark if points is None else f"{points:g}"

    def head(self, students: list[Student], assignments: list[Assignment]) -> list[list[str]]:
        """Return the rows before those of the learners."""
        raise NotImplementedError

    def learners(self, students: list[Student]) -> list[list[str]]:
        """Return the cells that say who each learner is."""
        raise NotImplementedError


class Moodle(Platform):
    """For Moodle's grade import, which asks by which column learners are found, and what each other column is."""

    no_mark = "-"

    def head(self, students: list[Student], assignments: list[Assignment]) -> list[list[str]]:
        """Return the header."""
        columns = MOODLE_NAMES | MOODLE_IDENTIFIERS
        named = [columns[field] for field in self._fields(students)]
        return [[*named, *(assignment.name for assignment in assignments)]]

    def learners(self, students: list[Student]) -> list[list[str]]:
        """Return names and identifiers.

        Moodle gives the marks of a row without an identifier to the learner of the row before. So an identifier that
        not every learner has is left out.
        """
        fields = self._fields(students)
        return [[as_text(getattr(student, field)) for field in fields] for student in students]

    def _fields(self, students: list[Student]) -> list[str]:
        known = [field for field in MOODLE_IDENTIFIERS if all(as_text(getattr(each, field)) for each in students)]
        return [*MOODLE_NAMES, *known]


class Canvas(Platform):
    """For Canvas's gradebook import, which finds a learner by its own number, or else by the login."""

    def head(self, students: list[Student], assignments: list[Assignment]) -> list[list[str]]:
        """Return the header, and the row with the points that can be reached."""
        named = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
        possible = ["    Points Possible", "", "", "", "", *(f"{assignment.max_score:g}" for assignment in assignments)]
        return [[*named, *(assignment.name for assignment in assignments)], possible]

    def learners(self, students: list[Student]) -> list[list[str]]:
        """Return name, number and login; the number of the gradebook's platform is Canvas's if it has digits only."""
        rows = []
        for student in students:
            name = ", ".join(part for part in (student.last_name, student.first_name) if part)
            number = as_text(student.lms_user_id)
            numbers = [number, ""] if number.isdecimal() else ["", number]
            rows.append([as_text(name or student.id), *numbers, as_text(student.id), ""])
        return rows


PLATFORMS = {"moodle": Moodle, "canvas": Canvas}
