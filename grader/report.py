"""What a judgement says, as data, as text for a terminal, and as HTML for a notebook. It is told; it asks nobody."""

import html
import json
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.text import Text

from grader.facts import Runs

SCHEMA = 1
MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "skipped": ("-", "bright_black"), "error": ("?", "yellow")}
HTML_COLOURS = {"green": "#1a7f37", "red": "#c9372c", "bright_black": "#6b7280", "yellow": "#9a6700"}
VERDICTS = {
    "passed": "Passed",
    "failed": "Not yet",
    "needs_review": "A person has to look at this",
    "not_graded": "Could not be judged",
}


class NotYetError(Exception):
    """A check is not passed; the message says why. A notebook shows that and no traceback: no program failed."""

    def _render_traceback_(self) -> list[str]:
        return [f"Not yet: {self}"]


@dataclass
class Check:
    """One property of a step, and whether the script has it."""

    name: str
    step: int
    status: str  # passed, failed, skipped or error
    points: float
    max_points: float
    message: str
    hint: str = ""
    line: int | None = None  # of the learner's file, from 1

    @property
    def told(self) -> str:
        """The first line of the message, and where to look."""
        return self.message.partition("\n")[0] + (f" (line {self.line})" if self.line else "")

    def to_html(self) -> str:
        """Return what the check found."""
        mark, colour = MARKS[self.status]
        text = f'<p><span style="color:{HTML_COLOURS[colour]}">{mark}</span> {html.escape(self.told)}</p>'
        if self.hint:
            text += f"<p>Hint: {html.escape(self.hint)}</p>"
        return text


@dataclass
class Report:
    """The judgement of one script."""

    step: int
    file: str
    status: str  # passed, failed, needs_review or not_graded
    seconds: float = 0.0
    checks: list[Check] = field(default_factory=list)
    runs: Runs | None = field(default=None, repr=False)  # what the report is about, if the script got as far as running

    @property
    def score(self) -> float:
        """The points earned; none unless the script was judged."""
        return 0.0 if self.status == "not_graded" else sum(check.points for check in self.checks)

    @property
    def max_score(self) -> float:
        """The points there are."""
        return sum(check.max_points for check in self.checks)

    @property
    def first_failure(self) -> Check | None:
        """The first check that is not passed and not skipped."""
        return next((check for check in self.checks if check.status in ("failed", "error")), None)

    def to_json(self) -> str:
        """Return the report as one JSON object; grader/schema.json describes it."""
        fields = {"schema": SCHEMA, "step": self.step, "file": self.file, "status": self.status}
        fields |= {"score": self.score, "max_score": self.max_score, "seconds": round(self.seconds, 2)}
        return json.dumps(fields | {"checks": [asdict(check) for check in self.checks]})

    @classmethod
    def from_json(cls, fields: dict) -> "Report":
        """Return the report that to_json() wrote, without what the ranks did."""
        checks = [Check(**check) for check in fields["checks"]]
        return cls(fields["step"], fields["file"], fields["status"], fields["seconds"], checks)

    def print(self, console: Console) -> None:
        """Write one line a check, then the first failure in full."""
        for check in self.checks:
            mark, colour = MARKS[check.status]
            points = f"{check.points:g}/{check.max_points:g}" if check.max_points else ""
            line = Text(f"{mark} ", style=colour)
            line.append(f"{check.name}  ", style="bold" if check.status == "failed" else "")
            line.append(points, style="bright_black")
            console.print(line)
        failure = self.first_failure
        if failure:
            where = f" (line {failure.line})" if failure.line else ""
            console.print(Text(f"\n{failure.message}{where}"))
            if failure.hint:
                console.print(Text(f"Hint: {failure.hint}", style="cyan"))
        colour = {"passed": "green", "failed": "red"}.get(self.status, "yellow")
        console.print(
            Text(f"\n{VERDICTS[self.status]}: {self.score:g} of {self.max_score:g} points", style=f"bold {colour}")
        )

    def require(self, step: int) -> None:
        """Raise NotYetError, which says what is missing, unless the check of a step is passed."""
        check = next(check for check in self.checks if check.step == step and check.max_points)
        said = check if check.status == "failed" else self.first_failure or check
        if check.status != "passed" or self.status == "needs_review":
            raise NotYetError(f"{said.told} {said.hint}")

    @property
    def figure(self) -> str:
        """The figure that goes with the first failure, as SVG; nothing where there is none."""
        failure = self.first_failure
        if not (self.runs and failure and failure.max_points):
            return ""
        from grader import pictures  # matplotlib takes half a second to import, and a terminal has no use for it

        return pictures.draw(failure.step, self.runs)

    def _repr_html_(self) -> str:
        """Return the same for a notebook, with a figure where there is one."""
        return self.to_html(self.figure)

    def to_html(self, figure: str) -> str:
        """Return a line a check, then the first failure in full, with its figure."""
        rows = []
        for check in self.checks:
            mark, colour = MARKS[check.status]
            points = f"{check.points:g} / {check.max_points:g}" if check.max_points else ""
            rows.append(
                f'<tr><td style="color:{HTML_COLOURS[colour]}">{mark}</td>'
                f'<td style="text-align:left">{html.escape(check.name)}</td><td>{points}</td></tr>'
            )
        failure, told = self.first_failure, ""
        if failure:
            traceback = failure.message.partition("\n")[2]
            told = f"<p><b>{html.escape(failure.told)}</b></p>"
            told += f"<pre>{html.escape(traceback)}</pre>" if traceback else ""
            told += figure
            if failure.hint:
                told += f"<details><summary>Hint</summary>{html.escape(failure.hint)}</details>"
        verdict = f"<p>{VERDICTS[self.status]}: {self.score:g} of {self.max_score:g} points</p>"
        return f"<table>{''.join(rows)}</table>{told}{verdict}"
