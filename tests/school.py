"""A school for tests: a course directory, an exchange, and nbgrader's own commands on them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from course.steps import NOTEBOOKS, ROOT, Step


class School:
    """A course directory in a folder for one test, with the instructor's commands."""

    def __init__(self, folder: Path, db: str | None = None):
        """Make the course directory and the exchange in a folder; db is the gradebook's URL (default: SQLite)."""
        self.course, self.exchange, self.home = folder / "course", folder / "exchange", folder / "home"
        for made in (self.course, self.exchange, self.home):
            made.mkdir(parents=True)
        self.exchange.chmod(0o777)
        shutil.copytree(NOTEBOOKS, self.course / "notebooks", ignore=shutil.ignore_patterns("*.py", "logs"))
        self.db = db or f"sqlite:///{self.course}/gradebook.db"
        self.inbound = self.exchange / "distributed-training" / "inbound"
        self.environment = os.environ | {
            "JUPYTER_CONFIG_PATH": str(ROOT / "grader"),
            "HOME": str(self.home),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "CANARY": "CANARY",
        }

    def run(self, *command: str, cwd: Path | None = None) -> str:
        """Run an nbgrader command, which must succeed, and return its output."""
        options = [f"--CourseDirectory.root={self.course}", f"--CourseDirectory.db_url={self.db}"]
        options.append(f"--Exchange.root={self.exchange}")
        options += [f"--Exchange.assignment_dir={cwd}", f"--Exchange.cache={cwd}/cache"] if cwd else []
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *command, *options],
            cwd=cwd or self.course,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def release(self, step: Step) -> None:
        """Generate and release a step's assignment."""
        self.run("generate_assignment", step.name)
        self.run("release_assignment", step.name)

    def lesson(self, step: Step) -> str:
        """Return the text of the released notebook."""
        return (self.course / "release" / step.name / f"{step.name}.ipynb").read_text()

    def hand_in(self, student: str, step: Step, script: str) -> Path:
        """Put a submission into the exchange, as nbgrader's submit does, and return its folder."""
        time = "2026-11-21 09:00:00.000000 UTC"
        folder = self.inbound / f"{student}+{step.name}+{time}+0123456789"
        folder.mkdir()
        (folder / f"{step.name}.ipynb").write_text(self.lesson(step))
        (folder / step.script).write_text(script)
        (folder / "timestamp.txt").write_text(time)
        return folder

    def submit(self, student: str, step: Step, script: str | None) -> None:
        """Put a submission where nbgrader's collect puts it; without a script, only its notebook."""
        folder = self.course / "submitted" / student / step.name
        folder.mkdir(parents=True)
        (folder / f"{step.name}.ipynb").write_text(self.lesson(step))
        if script is not None:
            (folder / step.script).write_text(script)

    def grading(self, step: Step, *options: str) -> list[str]:
        """Return the command that grades a step's submissions."""
        command = [sys.executable, "-m", "grader.classroom.grade", str(step.number), f"--db={self.db}"]
        return [*command, f"--course-dir={self.course}", *options]

    def grade(self, step: Step, *options: str) -> subprocess.CompletedProcess:
        """Grade a step's submissions."""
        return subprocess.run(
            self.grading(step, *options), cwd=ROOT, env=self.environment, capture_output=True, text=True
        )

    def gradebook(self) -> dict[tuple[str, str], tuple[float, bool]]:
        """Return all grades by student and cell: points, and whether the cell needs manual grading."""
        found = {}
        with Gradebook(self.db) as gradebook:
            for assignment in gradebook.assignments:
                for submission in assignment.submissions:
                    for notebook in submission.notebooks:
                        for grade in notebook.grades:
                            found[submission.student.id, f"{assignment.name}/{grade.name}"] = (
                                grade.score,
                                bool(grade.needs_manual_grade),
                            )
        return found

    def points(self, student: str, step: Step) -> tuple[float, bool] | None:
        """Return a submission's points, and whether it needs manual grading; None if there is no submission."""
        with Gradebook(self.db) as gradebook:
            try:
                found = gradebook.find_submission(step.name, student)
            except MissingEntry:
                return None
            return found.score, bool(found.needs_manual_grade)

    def verdicts(self) -> list[dict]:
        """Return all stored verdicts."""
        kept = (self.course / "verdicts").glob("*.json")
        return [json.loads(path.read_text()) for path in kept if not path.name.startswith("graded-")]
