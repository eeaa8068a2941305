"""Judge the properties of all steps up to one, and say which ones a script has."""

from course.steps import Step
from grader import epochs, production, properties, servers, workers
from grader.facts import Runs
from grader.report import Check
from grader.source import Source

JUDGES = properties.JUDGES | epochs.JUDGES | production.JUDGES | workers.JUDGES | servers.JUDGES

# Which steps must be right before one can be told.
NEEDS = properties.NEEDS | epochs.NEEDS | production.NEEDS | workers.NEEDS | servers.NEEDS

UNTOLD = "Cannot be told: the program does not run."

# Where a step is not right: whether so little happened that those which need it cannot be told.
TELLS_NOTHING = {1: properties.uninitialised, 8: properties.untrained}


def judge(steps: list[Step], runs: Runs, expected: Runs, source: Source) -> tuple[list[Check], bool]:
    """Return a check for each step, in order, and whether one of them says why the program does not run to its end."""
    if not all(facts.reported for _, facts in runs.ranks()):
        return [_check(step, "skipped", UNTOLD) for step in steps], False
    checks = []
    failed, explained = set(), False
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
            continue
        explained |= finding.explains
        status = "skipped" if finding.untold else "error" if finding.unclear else "failed"
        checks.append(_check(step, status, finding.message, finding.line))
        if finding.unclear or TELLS_NOTHING.get(step.number, lambda _: True)(runs):
            failed.add(step.number)
    return checks, explained


def _check(step: Step, status: str, message: str, line: int | None = None) -> Check:
    points = step.check.points if status == "passed" else 0
    hint = step.check.hint if status == "failed" else ""
    return Check(step.check.description, step.number, status, points, step.check.points, message, hint, line)
