"""Judge a repair: by the check of the step that the program is from, or by what the job of the case does after it."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from course.hunt.cases import Case
from course.steps import get
from grader.hunt import proof
from grader.judge import judge as judge_step
from grader.reading import parsing
from grader.reading.parsing import NoScriptError, UnreadableError
from grader.runner.pool import NoVerdictError, OverrunError, Pool
from grader.terms.clusters import Watched
from grader.terms.report import Outcome, OutcomeStatus
from grader.terms.watched_facts import HuntFacts

NAME = "Repair"
POINTS = 5


def judge(path: Path, case: Case, pool: Pool, begins: Callable[[str], object] = lambda cluster: None) -> Outcome:
    """Return the Outcome for a repaired file.

    Args:
        path: the file.
        case: which it is of.
        pool: where to run it.
        begins: called with the description of the hosts when the job starts.
    """
    if case.judged:
        return _by_step(path, case, pool, begins)
    try:
        text = parsing.load(path)
        where = Watched(case.name, f"the job of {case.label}", len(case.job.slots), 1, 0, watcher="hunt_watcher")
        answer = pool.run(text, case.script, (where,), begins=begins)
        result = answer.clusters[case.name][0]
        facts = msgspec.msgpack.decode(result.facts, type=HuntFacts)
    except UnreadableError as error:
        return _told("error", f"{path.name} cannot be read: {error}.")
    except (NoScriptError, OverrunError) as error:
        return _told("failed", str(error))
    except (NoVerdictError, msgspec.MsgspecError) as error:
        return _told("error", f"The judge reached no verdict: {error}")
    wrong = proof.missing(case, result, facts)
    return _told("failed" if wrong else "passed", wrong or "Correct.")


def _by_step(path: Path, case: Case, pool: Pool, begins: Callable[[str], object]) -> Outcome:
    """Judge a repair as a script of the step."""
    report = judge_step(path, get(case.judged).number, pool, figure=False, begins=begins)
    failure = report.first_failure
    if report.status == "passed":
        return _told("passed", "Correct.")
    if report.status == "failed" and failure:
        return _told("failed", failure.message, failure.line)
    return _told("error", failure.message if failure else "The judge reached no verdict.")


def _told(status: OutcomeStatus, message: str, line: int | None = None) -> Outcome:
    return Outcome(NAME, 0, status, POINTS if status == "passed" else 0, POINTS, message, "", line)
