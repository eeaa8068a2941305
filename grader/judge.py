"""Judge one script: read it, run it, decide, report. Neither the learner's code nor its data are looked into here."""

import secrets
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from course import steps
from grader import checks
from grader.checks import ending
from grader.checks.part import DRAWS
from grader.deciding import Case, Decision, failed, undecided
from grader.terms.report import Outcome, Report
from grader.runner import expectations
from grader.reading import parsing
from grader.runner.pool import SECONDS, NoVerdictError, OverrunError, Pool
from grader.reading.parsing import NoScriptError, UnreadableError


def judge(
    path: str | Path,
    number: int,
    pool: Pool,
    seconds: float = SECONDS,
    figure: bool = True,
    begins: Callable[[str], object] = lambda cluster: None,
) -> Report:
    """Return the report on a script for a step. Whatever goes wrong is in the report.

    Args:
        path: the learner's file.
        number: the step.
        pool: where to run it.
        seconds: how long it may take.
        figure: whether one is wanted for the first failure.
        begins: called with the description of a cluster when the script starts there.
    """
    refused = _no_check(number, path)
    if refused:
        return refused
    began = time.monotonic()
    try:
        decision = _decide(
            Case(number, parsing.load(Path(path)), seconds, draw=secrets.randbelow(DRAWS), figure=figure),
            pool,
            begins,
        )
    except UnreadableError as error:
        decision = Decision("not_graded", [ending.outcome("error", number, f"{path} cannot be read: {error}.")])
    except NoScriptError as error:
        decision = failed(number, str(error), error.line)
    except OverrunError as error:
        decision = failed(number, str(error))
    except NoVerdictError as error:
        decision = undecided(number, str(error))
    except Exception as error:  # whatever broke here is not the learner's doing, and no verdict
        decision = undecided(number, f"The grader broke: {error!r}")
    seconds = time.monotonic() - began
    return Report(number, str(path), decision.status, seconds, decision.checks, decision.figure)


def _no_check(number: int, path: str | Path) -> Report | None:
    """Return the report on a script for a step that has no check; None where it has one."""
    try:
        checks.of(number)
    except checks.NoCheckError as error:
        outcome = Outcome("The step exists", number, "error", 0, 0, str(error), "", None)
        return Report(number, str(path), "not_graded", checks=[outcome])
    return None


def _decide(case: Case, pool: Pool, begins: Callable[[str], object]) -> Decision:
    """Read a script, run it and its solution, and decide.

    Raises:
        OverrunError, NoVerdictError: see Pool.run and Pool.decide.
    """
    decision = _decided(case, pool)
    if decision is None:
        part = checks.of(case.step)
        case.expected = expectations.of(steps.get(case.step), part.clusters(case.step), pool, part.facts)
        clusters = [cluster for cluster in part.clusters(case.step, case.draw) if not cluster.reference]
        case.ran = pool.run(case.text, part.script, clusters, case.seconds, begins)
        decision = _decided(case, pool)
    assert decision
    return decision


def _decided(case: Case, pool: Pool) -> Decision | None:
    return msgspec.json.decode(pool.decide(msgspec.msgpack.encode(case)), type=Decision | None)
