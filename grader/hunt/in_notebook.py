"""The hunt in a notebook: run, hint and check of a case, with the fork server kept running from call to call."""

import json
import tomllib
import zlib
from dataclasses import dataclass
from html import escape
from pathlib import Path

from course.hunt import desk, edits, play
from course.hunt.cases import DIAGNOSIS
from course.internal.failures import RunError
from course.internal.waiting import Waiting
from grader.hunt import checking, in_terminal, proving
from grader.mutants import drawn
from grader.notebook import pool
from grader.reading.parsing import NoScriptError, UnreadableError
from grader.report.html import COLOURS
from grader.report.marks import MARKS
from grader.terms.findings import counted

DEMO = "another learner"  # whose fault is shown without a name
SEEDS = 1_000_000
MARK = "# What you have changed in the program, as hand_in() writes it:\n"


class Hunt:
    """A case, which a notebook works on."""

    def __init__(self, number: int):
        """Put the files of the case in place, if they are not there.

        Raises:
            KeyError: there is no such case.
        """
        self._case = drawn.find(number)
        desk.start(self._case)

    @property
    def folder(self) -> Path:
        """Where the learner's files are, and the timelines that the job has written."""
        return self._case.work

    def run(self) -> None:
        """Run the job with the learner's files."""
        self._play(self.folder)

    def _play(self, folder: Path) -> None:
        try:
            play.run(self._case, folder=folder)
        except RunError as error:
            print(f"The job failed. {error.reason if self._case.job.slots else ''}".rstrip())

    def hint(self) -> None:
        """Print the next hint, which costs a point."""
        number, text = desk.hint(self._case)
        print(f"Hint {number} of {desk.HINTS}: {text}")

    def check(self) -> "Page | None":
        """Judge the diagnosis and the repair, and return what to show."""
        try:
            with Waiting("the check is getting ready") as waiting:

                def begins(where: str) -> None:
                    waiting.what = f"the job is running ({where})"

                found = checking.check(self._case, pool(), begins)
        except (UnreadableError, NoScriptError) as error:
            print(f"{DIAGNOSIS}: {error}")
            return None
        return Page(found)


class Drill(Hunt):
    """A case that is a learner's own, drawn by their name, in the folder of the lesson."""

    def __init__(self, name: str | None, script: str):
        """Draw the case of a name, and put the program and the file of answers in place, if they are not there.

        Args:
            name: the learner's.
            script: the file of answers. Where a lesson runs without a learner, it is a solution, and stays.
        """
        if not name:
            print(f"Write your name into the cell above, and run it again. This is the fault of {DEMO}.")
        seed = drawn.FIRST + zlib.crc32((name or DEMO).strip().lower().encode()) % SEEDS
        with Waiting("the judge makes sure that your fault is one"):
            self._case = proving.make(seed, pool(), drawn.OF_DRILL)
        self._answers = Path(script)
        program = Path(self._case.script)
        if not program.exists():
            program.write_text(self._case.broken)
        if "seed" not in tomllib.loads(self._answers.read_text()):
            self._answers.write_text(self._form())
        print(self._case.ticket)

    def _form(self) -> str:
        seed = self._case.number
        fault = drawn.kept(seed)
        assert fault
        return f'{self._case.form()}\nseed = {seed}\nfault = "{fault.id}"\n'

    def run(self) -> None:
        """Run the job with the learner's program."""
        self._play(Path())

    def hand_in(self) -> None:
        """Write what the learner has changed in the program into the file of answers, as edits."""
        if self._answers.parent != Path():
            return
        found = edits.between(self._case.broken, Path(self._case.script).read_text())
        answers, _, _ = self._answers.read_text().partition(MARK)
        tables = [
            f"[[edit]]\nfirst = {edit.first}\nlast = {edit.last}\nlines = {json.dumps(edit.lines)}\n" for edit in found
        ]
        self._answers.write_text("\n".join([answers.rstrip() + "\n", MARK, *tables]))
        print(f"{self._answers}: {counted(len(found), 'edit')} of {self._case.script}")


@dataclass
class Page:
    """The verdict on a case, as a notebook shows it."""

    found: checking.Verdict

    def _repr_html_(self) -> str:
        """Return a row for each outcome, then the points."""
        rows = []
        for name, outcome in zip([*self.found.case.fields, "repair"], self.found.outcomes, strict=True):
            mark, colour = MARKS[outcome.status]
            rows.append(
                f'<tr><td style="color:{COLOURS[colour]}">{mark}</td><td style="text-align:left">{name}</td>'
                f"<td>{outcome.points:g} / {outcome.max_points:g}</td>"
                f'<td style="text-align:left">{escape(in_terminal.message(self.found, name))}</td></tr>'
            )
        return f"<table>{''.join(rows)}</table><p>{escape(in_terminal.summary(self.found))}</p>"
