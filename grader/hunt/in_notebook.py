"""The hunt in a notebook: run, hint and check of a case, with the fork server kept running from call to call."""

from dataclasses import dataclass
from html import escape

from course.hunt import desk, play
from course.hunt.cases import DIAGNOSIS
from course.internal.failures import RunError
from course.internal.waiting import Waiting
from grader.hunt import checking, drawn, in_terminal
from grader.notebook import pool
from grader.reading.parsing import NoScriptError, UnreadableError
from grader.report.html import COLOURS
from grader.report.marks import MARKS


class Hunt:
    """A case, which a notebook works on."""

    def __init__(self, number: int):
        """Put the files of the case in place, if they are not there.

        Raises:
            KeyError: there is no such case.
        """
        self._case = drawn.find(number)
        desk.start(self._case)

    def run(self) -> None:
        """Run the job with the learner's files."""
        try:
            play.run(self._case)
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
