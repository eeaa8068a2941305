"""A judgement as data: the outcome of each check, and the JSON object that other tools read."""

import json
import re
import textwrap
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Struct

from course import steps

Status = Literal["passed", "failed", "needs_review", "not_graded"]
OutcomeStatus = Literal["passed", "failed", "skipped", "error"]
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
Points = Annotated[float, Meta(ge=0)]


WIDTH = 90  # characters of a line in the window in which nbgrader's Validate shows an error, which cuts longer ones


class NotYetError(Exception):
    """A check is not passed; the message says why. A notebook shows that and no traceback: no program failed."""

    def _render_traceback_(self) -> list[str]:
        return [f"Not yet: {self}"]


class Outcome(Struct, forbid_unknown_fields=True):
    """What one check says of a script."""

    name: str
    step: int
    status: OutcomeStatus
    points: Points
    max_points: Points
    message: str
    hint: str
    line: int | None  # of the learner's file, from 1

    def __post_init__(self) -> None:
        """Show characters that steer a terminal, or that no file can hold, as what they are: a script chose them."""
        self.message = STEERING.sub(lambda found: ascii(found[0])[1:-1], self.message)

    @property
    def summary(self) -> str:
        """The first line of the message, and where to look."""
        return self.message.partition("\n")[0] + (f" (line {self.line})" if self.line else "")


class Remark(Struct, forbid_unknown_fields=True):
    """Something in a script that an instructor may want to look at. It changes no status, points or exit code."""

    line: int
    text: str


class Published(Struct, forbid_unknown_fields=True):
    """The object that `python -m grader check --json` prints."""

    schema: Literal[1]
    step: int
    file: str
    status: Status
    score: Points
    max_score: Points
    seconds: Points
    checks: list[Outcome]
    remarks: list[Remark] = []


def schema() -> dict[str, Any]:
    """Return the JSON schema of a Published report."""
    return msgspec.json.schema(Published)


@dataclass
class Report:
    """The judgement of one script."""

    step: int
    file: str
    status: Status
    seconds: float = 0.0
    checks: list[Outcome] = field(default_factory=list)
    figure: str = field(default="", repr=False)  # that goes with the first failure, as SVG
    remarks: list[Remark] = field(default_factory=list)  # for an instructor

    @property
    def score(self) -> float:
        """The points earned; none unless the script was judged."""
        return 0.0 if self.status == "not_graded" else sum(outcome.points for outcome in self.checks)

    @property
    def max_score(self) -> float:
        """The points there are."""
        return sum(outcome.max_points for outcome in self.checks)

    @property
    def first_failure(self) -> Outcome | None:
        """The first outcome that failed; where none did, the first one that a person has to look at."""
        wrong = [outcome for status in ("failed", "error") for outcome in self.checks if outcome.status == status]
        return wrong[0] if wrong else None

    def published(self) -> dict[str, Any]:
        """Return the report as a Published object, of built-in types."""
        seconds = round(self.seconds, 2)
        own = Published(
            1, self.step, self.file, self.status, self.score, self.max_score, seconds, self.checks, self.remarks
        )
        return cast(dict[str, Any], msgspec.to_builtins(own))

    def to_json(self) -> str:
        """Return the report as one JSON object on one line."""
        return json.dumps(self.published())

    @classmethod
    def from_published(cls, fields: object) -> "Report":
        """Return the report that published() gave, without a figure.

        Raises:
            msgspec.ValidationError: it is not of that shape.
        """
        own = msgspec.convert(fields, Published)
        return cls(own.step, own.file, own.status, own.seconds, own.checks, remarks=own.remarks)

    def require(self, step: int | str, check: str = "") -> None:
        """Raise NotYetError, which says what is missing, unless a step's check of this name, or each one, is passed."""
        number = steps.get(step).number
        wanted = [outcome for outcome in self.checks if outcome.step == number and check in ("", outcome.name)]
        missing = next((outcome for outcome in wanted if outcome.status != "passed"), None)
        if not wanted:
            raise NotYetError("The course's checks are newer than this notebook: fetch the assignment again.")
        if missing or self.status == "needs_review":
            said = missing if missing and missing.status == "failed" else self.first_failure or missing
            raise NotYetError(textwrap.fill(f"{said.summary} {said.hint}", WIDTH) if said else "")
