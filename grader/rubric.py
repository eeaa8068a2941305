"""Judge the properties of all steps up to one, and say which ones a script has."""

from course.steps import Step
from grader.facts import Runs
from grader.pool import arguments
from grader.properties import COUNTING, FEW_BATCHES, JUDGES, NEEDS, TEST_BATCHES, TRAIN_BATCHES, uninitialised
from grader.report import Check
from grader.source import Source


def sizes(steps: list[Step]) -> list[str]:
    """Return the arguments that a script is run with to judge these steps."""
    counting = any(step.number in COUNTING for step in steps)
    return arguments(*(TRAIN_BATCHES, TEST_BATCHES) if counting else FEW_BATCHES)


def judge(steps: list[Step], runs: Runs, expected: Runs, source: Source) -> list[Check]:
    """Return a check for each step, in order."""
    checks = []
    failed = set()
    for step in steps:
        needs = NEEDS[step.number] & failed
        if needs:
            message = f"Cannot be told before step {min(needs)} is right."
            checks.append(_check(step, "skipped", message))
            failed.add(step.number)
            continue
        finding = JUDGES[step.number](runs, expected, source)
        if finding is None:
            checks.append(_check(step, "passed", "As it should be."))
        elif finding.unclear:
            checks.append(_check(step, "error", finding.message, finding.line))
            failed.add(step.number)
        else:
            checks.append(_check(step, "failed", finding.message, finding.line))
            failed |= {step.number} if step.number != 1 or uninitialised(runs) else set()
    return checks


def _check(step: Step, status: str, message: str, line: int | None = None) -> Check:
    points = step.check.points if status == "passed" else 0
    hint = step.check.hint if status == "failed" else ""
    return Check(step.check.description, step.number, status, points, step.check.points, message, hint, line)
