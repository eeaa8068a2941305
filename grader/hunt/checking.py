"""Check both files of a case, and keep the best result."""

from collections.abc import Callable
from dataclasses import dataclass, field

from course.hunt import desk
from course.hunt.cases import DIAGNOSIS, Case
from grader.checks import diagnosed
from grader.hunt import repair
from grader.runner.pool import Pool
from grader.terms.report import Outcome


@dataclass
class Verdict:
    """What the check of a case found.

    Attributes:
        case: the case.
        hints: that were taken, each of which costs a point.
        diagnosis: an Outcome for each field.
        repair: the Outcome for the job.
    """

    case: Case
    hints: int
    diagnosis: list[Outcome] = field(default_factory=list)
    repair: Outcome | None = None

    @property
    def outcomes(self) -> list[Outcome]:
        """All of them."""
        return [*self.diagnosis, *([self.repair] if self.repair else [])]

    @property
    def diagnosed(self) -> bool:
        """Whether the whole diagnosis is right."""
        return all(each.status == "passed" for each in self.diagnosis)

    @property
    def solved(self) -> bool:
        """Whether diagnosis and repair are right."""
        return all(each.status == "passed" for each in self.outcomes)

    @property
    def score(self) -> float:
        """The points, less those for hints."""
        return max(0.0, sum(each.points for each in self.outcomes) - self.hints)

    @property
    def max_score(self) -> float:
        """The points without a hint."""
        return sum(each.max_points for each in self.outcomes)


def check(case: Case, pool: Pool, begins: Callable[[str], object] = lambda cluster: None) -> Verdict:
    """Judge the learner's files of a case.

    Args:
        case: the case, which was started.
        pool: where to run the job.
        begins: called with the description of the hosts when the job starts.

    Raises:
        UnreadableError: the diagnosis cannot be read.
        NoScriptError: the diagnosis is not valid TOML.
    """
    known = desk.progress(case)
    verdict = Verdict(case, known.hints, diagnosed.judge(case.work / DIAGNOSIS, case))
    verdict.repair = repair.judge(case.work / case.script, case, pool, begins)
    if verdict.repair.status != "error":
        known.diagnosis = max(known.diagnosis, sum(each.points for each in verdict.diagnosis))
        known.repair = max(known.repair, verdict.repair.points)
        known.score, known.solved = max(known.score, verdict.score), known.solved or verdict.solved
        desk.keep(case, known)
    return verdict
