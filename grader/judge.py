"""Judge one script: read it, run it, compare it with the solution, report. The learner's code never runs here."""

import signal
import time
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from course import steps
from grader import checks
from grader.checks import ending
from grader.checks.part import NOT_RUN, Part
from grader.report.data import Outcome, Report
from grader.runner import expectations, reading
from grader.runner.pool import SECONDS, GoneError, NoVerdictError, OverrunError, Pool
from grader.runner.reading import NoScriptError, Source, UnreadableError
from grader.runs import read

WORKS = "fit", "evaluate", "SidecarEvaluator"  # a lesson's program uses one of these
AGAIN = "The machine may have run out of memory: judge it again."
UNFINISHED = "Correct as far as the program runs. Points are awarded once it runs to completion."


def judge(path: str | Path, number: int, pool: Pool, seconds: float = SECONDS) -> Report:
    """Return the report on a script for a step. Whatever goes wrong is in the report.

    Args:
        path: the learner's file.
        number: the step.
        pool: where to run it.
        seconds: how long it may take.
    """
    refused = no_check(number, path)
    if refused:
        return refused
    began, part = time.monotonic(), checks.of(number)
    report = Report(number, str(path), "not_graded")
    try:
        _judge(report, part, reading.load(Path(path)), pool, seconds)
    except UnreadableError as error:
        report.checks = [ending.outcome("error", number, f"{path} cannot be read: {error}.")]
    except (NoScriptError, OverrunError) as error:
        report.status = "failed"
        report.checks = _unjudged(part, ending.outcome("failed", number, str(error), getattr(error, "line", None)))
    except NoVerdictError as error:
        report.checks = _unjudged(part, ending.outcome("error", number, str(error)))
    except Exception as error:  # whatever broke here is not the learner's doing, and no verdict
        report.status = "not_graded"
        report.checks = _unjudged(part, ending.outcome("error", number, f"The grader broke: {error!r}"))
    report.seconds = time.monotonic() - began
    return report


def no_check(number: int, path: str | Path) -> Report | None:
    """Return the report on a script for a step that has no check; None where it has one."""
    try:
        checks.of(number)
    except checks.NoCheckError as error:
        outcome = Outcome("The step exists", number, "error", 0, 0, str(error), "", None)
        return Report(number, str(path), "not_graded", checks=[outcome])
    return None


def _judge(report: Report, part: Part[Any], text: str, pool: Pool, seconds: float) -> None:
    """Read a script, run it, compare it, and fill in the report.

    Raises:
        NoScriptError: the file is not the learner's program.
        OverrunError, NoVerdictError: see Pool.run.
    """
    clusters = part.clusters(report.step)
    source = reading.read(text)
    if not any(map(source.mentions, WORKS)):
        raise NoScriptError("The script never calls model.fit: is it another file?")
    expected = expectations.of(steps.get(report.step), clusters, pool, part.facts)
    try:
        runs = report.runs = read(pool.run(text, part.script, clusters, seconds), clusters, part.facts)
    except GoneError:
        if source.suspicious:
            raise
        raise NoVerdictError(f"The processes that the script ran in are gone. {AGAIN}") from None
    killed = next((rank for rank in runs.ranks() if rank.exit == -signal.SIGKILL and not rank.ended_for), None)
    if killed and not source.suspicious:
        raise NoVerdictError(f"{killed.where} was killed, and not by the script. {AGAIN}")
    outcomes, explained = part.compare(report.step, runs, expected, source)
    ended = ending.judge(runs, report.step, seconds, text)
    if ended.status == "failed":  # no step is done that breaks the program
        outcomes = [_unfinished(outcome) if outcome.step == report.step else outcome for outcome in outcomes]
    report.checks = [*outcomes, ended] if explained else [ended, *outcomes]
    statuses = {outcome.status for outcome in report.checks}
    if source.suspicious and "failed" not in statuses:
        report.checks.insert(0, _out_of_place(report.step, source))
        statuses.add("error")
    report.status = "failed" if "failed" in statuses else "needs_review" if "error" in statuses else "passed"
    report.drawing = part.figure(report.first_failure)


def _unfinished(outcome: Outcome) -> Outcome:
    """Return an outcome without the points of one that passed."""
    return replace(outcome, status="skipped", points=0, message=UNFINISHED) if outcome.status == "passed" else outcome


def _out_of_place(number: int, source: Source) -> Outcome:
    where = "; ".join(f"line {line} {what}" for line, what in source.suspicious[:5])
    message = f"The script does what no step asks for, so a person has to look at it: {where}."
    name = "Nothing in the script is out of place"
    return Outcome(name, number, "error", 0, 0, message, "", source.suspicious[0][0])


def _unjudged(part: Part[Any], ended: Outcome) -> list[Outcome]:
    """Return the outcomes where there is nothing to compare, which the first one explains."""
    return [ended, *(check.outcome("skipped", NOT_RUN) for check in part.up_to(ended.step))]
