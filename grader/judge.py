"""Judge one script: read it, run it next to its solution, compare, report. The learner's code never runs here."""

import contextlib
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from course import steps
from grader import checks
from grader.checks import ending
from grader.checks.part import Part
from grader.reading import parsing
from grader.reading.parsing import Enclosed, NoScriptError, Source, UnreadableError
from grader.runner import answers, expectations
from grader.runner.pool import SECONDS, Begins, NoVerdictError, OverrunError, Pool
from grader.terms.clusters import Killed
from grader.terms.job import Answer
from grader.terms.report import Outcome, Report, Status
from grader.terms.runs import Rank, Runs

AGAIN = "Please run the check again."
VOID = "Not checked: the weights of a rank are NaN."
UNFINISHED = "Correct as far as the program runs. Points are awarded once it runs to completion."


def judge(
    path: str | Path,
    number: int,
    pool: Pool,
    seconds: float = SECONDS,
    figure: bool = True,
    begins: Begins = lambda cluster: None,
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
    report, began = Report(number, str(path), "not_graded"), time.monotonic()
    try:
        part = checks.of(number)
    except checks.NoCheckError as error:
        report.checks = [Outcome("The step exists", number, "error", 0, 0, str(error), "", None)]
        return report
    try:
        _judge(report, part, pool, seconds, figure, begins)
    except UnreadableError as error:
        report.checks = [ending.outcome("error", number, f"{path} cannot be read: {error}.")]
    except NoScriptError as error:
        _fail(report, part, str(error), error.line)
    except OverrunError as error:
        _fail(report, part, str(error))
    except NoVerdictError as error:
        _leave_open(report, part, str(error))
    except Exception as error:  # whatever broke here is not the learner's doing, and no verdict
        _leave_open(report, part, f"The grader broke: {error!r}")
    except KeyboardInterrupt:
        _leave_open(report, part, f"Interrupted before there was a verdict. {AGAIN}")
    report.seconds = time.monotonic() - began
    return report


def _judge(report: Report, part: Part[Any], pool: Pool, seconds: float, figure: bool, begins: Begins) -> None:
    """Read a script, run it and its solution, and write what that shows into the report.

    Raises:
        UnreadableError, NoScriptError: see grader.reading.parsing.
        OverrunError, NoVerdictError: see Pool.run; or the machine kept the script from running.
    """
    number = report.step
    text = parsing.load(Path(report.file))
    source = part.read(text)
    report.remarks = source.remarks
    clusters = part.clusters(number)
    if not clusters:  # the file is judged as it stands, or by the program in it
        if inner := part.enclosed(source):
            source.enclosed = _of_enclosed(inner, pool, seconds, begins)
        _compare(report, part, source, Runs({}), Runs({}), seconds)
        return
    expected = expectations.of(steps.get(number), clusters + part.references(number), pool, part.facts)
    answer = pool.run(text, part.script, clusters, seconds, begins)
    runs = answers.read(answer, clusters, part.facts)
    _require_undisturbed(runs, answer, part, number)
    _compare(report, part, source, runs, expected, seconds)
    drawing = part.figure(report.first_failure)
    if drawing and figure:
        from grader.report import figures  # matplotlib takes half a second to import

        with contextlib.suppress(ValueError, OverflowError):  # of numbers that cannot be drawn: no figure then
            report.figure = figures.draw(drawing, runs)


def _of_enclosed(inner: Enclosed, pool: Pool, seconds: float, begins: Begins) -> Report:
    """Return the report on a program that is in a file of answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / inner.name
        path.write_text(inner.text)
        return judge(path, inner.step, pool, seconds, figure=False, begins=begins)


def _require_undisturbed(runs: Runs[Any], answer: Answer, part: Part[Any], number: int) -> None:
    """Require that nothing but the script decided how its ranks ended.

    Raises:
        NoVerdictError: the machine ran out of memory, or the judge's own code failed in a rank.
    """
    meant = {cluster.name: cluster.task for cluster in part.clusters(number) if isinstance(cluster, Killed)}
    for name, ranks in (runs.clusters | runs.reserved).items():
        for rank in ranks:
            if answer.out_of_memory and _was_killed(rank) and meant.get(name) != rank.number:
                raise NoVerdictError(f"{rank.where} was killed, as the machine ran out of memory. {AGAIN}")
            if rank.exit == os.EX_SOFTWARE and not (rank.reported or rank.ended_for):
                raise NoVerdictError(f"{rank.where}: the judge's own code failed there. {AGAIN}")


def _was_killed(rank: Rank[Any]) -> bool:
    """Return whether something else than the supervisor killed a rank."""
    return rank.exit == -signal.SIGKILL and not rank.ended_for


def _compare(
    report: Report, part: Part[Any], source: Source, runs: Runs[Any], expected: Runs[Any], seconds: float
) -> None:
    """Compare what a script's ranks did with what the solution's did."""
    outcomes, explained = part.compare(report.step, runs, expected, source)
    ended = part.ended(runs, report.step, seconds, source.text)
    if ended.status == "failed":  # no step is done that breaks the program
        outcomes = [_unfinished(outcome) if outcome.step == report.step else outcome for outcome in outcomes]
    if ending.diverged(runs) and any(each.status == "failed" and each.step == report.step for each in outcomes):
        outcomes = [each if each.step == report.step else _void(each) for each in outcomes]
    report.checks = [*outcomes, ended] if explained else [ended, *outcomes]
    statuses = {outcome.status for outcome in report.checks}
    status: Status = "failed" if "failed" in statuses else "passed" if statuses == {"passed"} else "needs_review"
    report.status = status


def _unfinished(outcome: Outcome) -> Outcome:
    """Return an outcome without the points of one that passed."""
    return replace(outcome, status="skipped", points=0, message=UNFINISHED) if outcome.status == "passed" else outcome


def _void(outcome: Outcome) -> Outcome:
    """Return an outcome without a failure: it is that of the step at which the weights became NaN."""
    return replace(outcome, status="skipped", message=VOID) if outcome.status == "failed" else outcome


def _fail(report: Report, part: Part[Any], why: str, line: int | None = None) -> None:
    """Report a script whose own fault it is that nothing can be compared."""
    report.status = "failed"
    ended = replace(ending.outcome("failed", report.step, why, line), name=part.whole)
    report.checks = _unjudged(report.step, part, ended)


def _leave_open(report: Report, part: Part[Any], why: str) -> None:
    """Report no verdict, where the script is not at fault."""
    report.status = "not_graded"
    ended = replace(ending.outcome("error", report.step, why), name=part.whole)
    report.checks = _unjudged(report.step, part, ended)


def _unjudged(number: int, part: Part[Any], ended: Outcome) -> list[Outcome]:
    """Return the outcomes where there is nothing to compare, which the first one explains."""
    return [ended, *(check.outcome("skipped", part.not_run) for check in part.up_to(number))]
