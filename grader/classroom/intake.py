"""The ways in for what learners hand in, as nbgrader's plugins: its exchange, downloads, and folders in submitted/."""

import atexit
import os
import pwd
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import ExtractorPlugin

from grader.classroom import downloads, release, submission
from grader.classroom.learners import LEARNER, Roster


def before_autograde(assignment: str, student: str, notebooks: list[str]) -> None:
    """Clean a submission that nbgrader is about to grade. In doubt it is left with no notebook, and is not graded."""
    found, notebooks[:] = list(notebooks), []
    folder = Path(found[0]).parent
    step = release.step_of(folder.name)
    root = folder.parents[2]
    submission.clean(folder, step, root / "set_aside" / folder.parent.name)
    notebooks[:] = [str(folder / f"{step.name}.ipynb")]


class Collect(ExchangeCollect):
    """nbgrader's collect, which takes what submission.copy() takes, from whom it says it is from."""

    def copy_files(self):
        """Collect, without what somebody else than the learner put there."""
        self.src_records = [record for record in self.src_records if self._is_theirs(record)]
        super().copy_files()

    def _is_theirs(self, record: dict) -> bool:
        owner = (Path(self.inbound_path) / record["filename"]).lstat().st_uid
        try:
            theirs = pwd.getpwnam(record["username"]).pw_uid == owner
        except KeyError:
            theirs = False
        foreign = self.check_owner and not theirs and owner != os.getuid() and _has_name(owner)
        if foreign or not LEARNER.fullmatch(record["username"]):
            self.log.error(
                "Not collected, since it is not %s who handed it in: %s", record["username"], record["filename"]
            )
            return False
        return True

    def do_copy(self, src, dest, log=None):
        """Copy one submission."""
        try:
            remarks = submission.copy(src, dest, release.step_of(self.coursedir.assignment_id))
        except OSError as error:
            self.log.error("Not collected: %s: %s", src, error)
            return
        for remark in remarks:
            self.log.warning("%s: %s", src, remark)


def _has_name(user: int) -> bool:
    try:
        return bool(pwd.getpwuid(user))
    except KeyError:
        return False


class Extract(ExtractorPlugin):
    """nbgrader's unpacking of downloads, which takes each learner's notebook and script and lists all other files."""

    def extract(self, archive_path, extracted_path):
        """Copy what is taken to a folder for each learner, and list all else where nbgrader's own messages end."""
        folder = Path(archive_path)
        lines = downloads.take(folder, Path(extracted_path), self._roster())
        (folder.parent / downloads.REPORT).write_text("".join(f"{line}\n" for line in lines))
        atexit.register(lambda: [self.log.warning("%s", line) for line in lines])

    def _roster(self) -> Roster:
        """Return the learners whom the gradebook knows."""
        coursedir = getattr(self.parent, "coursedir", None)
        if coursedir is None:
            return Roster()
        with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
            return Roster(gradebook.students)
