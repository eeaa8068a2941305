"""Decide what a script is worth, from its text and from what its ranks reported: data that the script may have shaped.

So this runs in a process of its own, with a limit on what it may use up: see grader.decision_server. Deep, huge or
odd data cost their own submission alone.
"""

import contextlib
import os
import signal
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from grader import checks
from grader.checks import ending
from grader.checks.part import NOT_RUN, Part
from grader.terms.facts import Ran
from grader.terms.job import Topology
from grader.terms.report import Outcome, Status, first_failure
from grader.reading.parsing import NoScriptError, Source
from grader.terms.runs import BrokenError, GoneError, Rank, Runs, read

AGAIN = "The machine may have run out of memory: judge it again."
UNFINISHED = "Correct as far as the program runs. Points are awarded once it runs to completion."


class Case(Struct):
    """What is decided on."""

    step: int
    text: str  # the script's
    seconds: float  # that it may have taken
    ran: Ran | None = None  # None before it has run
    expected: Ran | None = None  # of the solution
    draw: int = 0  # the number of the run: see grader.checks.part
    figure: bool = True  # whether one is wanted


class Decision(Struct):
    """What is decided."""

    status: Status
    checks: list[Outcome] = []
    figure: str = ""  # that goes with the first failure, as SVG

    @property
    def first_failure(self) -> Outcome | None:
        """See grader.terms.report.first_failure()."""
        return first_failure(self.checks)


def decide(case: Case) -> Decision | None:
    """Return the decision; None where the script has to be run first."""
    part = checks.of(case.step)
    try:
        source = part.read(case.text)
    except NoScriptError as error:
        return failed(case.step, str(error), error.line)
    if not (case.ran and case.expected):
        return None
    try:
        runs = read(case.ran, part.clusters(case.step, case.draw), part.facts)
        runs.draw = case.draw
    except GoneError:
        if source.suspicious:
            return failed(case.step, "It took down the processes that it ran in.")
        return undecided(case.step, f"The processes that the script ran in are gone. {AGAIN}")
    except BrokenError as error:
        return undecided(case.step, f"The grader's own process broke: {error}")
    killed = _killed(runs, part.clusters(case.step, case.draw))
    if killed and not source.suspicious:
        return undecided(case.step, f"{killed.where} was killed, and not by the script. {AGAIN}")
    broken = next(
        (rank for rank in runs.ranks() if rank.exit == os.EX_SOFTWARE and not (rank.reported or rank.ended_for)), None
    )
    if broken and not source.suspicious:
        return undecided(case.step, f"{broken.where}: the judge's own code fails there. Judge it again.")
    expected = read(case.expected, part.clusters(case.step), part.facts)
    decision = _compare(case, part, source, runs, expected)
    drawing = part.figure(decision.first_failure)
    if drawing and case.figure:
        from grader.report import figures  # matplotlib takes half a second to import

        with contextlib.suppress(ValueError, OverflowError):  # of numbers that cannot be drawn: a figure less
            decision.figure = figures.draw(drawing, runs)
    return decision


def _killed(runs: Runs[Any], topologies: Sequence[Topology]) -> Rank[Any] | None:
    """Return a rank that was killed from outside, as where memory is short; not one whose death a cluster is about."""
    meant = {(topology.name, topology.dies[0]) for topology in topologies if topology.dies}
    for name, ranks in (runs.topologies | runs.reserved).items():
        for rank in ranks:
            if rank.exit == -signal.SIGKILL and not rank.ended_for and (name, rank.number) not in meant:
                return rank
    return None


def failed(step: int, why: str, line: int | None = None) -> Decision:
    """Return the decision on a script whose own fault it is that nothing can be compared."""
    return Decision("failed", _unjudged(step, ending.outcome("failed", step, why, line)))


def undecided(step: int, why: str) -> Decision:
    """Return no decision, where the script is not at fault."""
    return Decision("not_graded", _unjudged(step, ending.outcome("error", step, why)))


def _compare(case: Case, part: Part[Any], source: Source, runs: Runs[Any], expected: Runs[Any]) -> Decision:
    """Compare what the ranks did with what the solution's did."""
    guarded = next((rank for rank in runs.all_ranks() if "guarded" in rank.causes), None)
    if guarded:  # it was ended there, and that is no fault: a person looks at it, as at what reading finds
        message = f"Needs manual review: {guarded.where} fails: {guarded.error}"
        why = ending.outcome("error", case.step, message, guarded.error_line)
        if source.suspicious:
            why = _out_of_place(case.step, source)
        return Decision("needs_review", _unjudged(case.step, why))
    outcomes, explained = part.compare(case.step, runs, expected, source)
    ended = part.ended(runs, case.step, case.seconds, case.text)
    if ended.status == "failed":  # no step is done that breaks the program
        outcomes = [_unfinished(outcome) if outcome.step == case.step else outcome for outcome in outcomes]
    found = [*outcomes, ended] if explained else [ended, *outcomes]
    statuses = {outcome.status for outcome in found}
    if source.suspicious and "failed" not in statuses:
        found.insert(0, _out_of_place(case.step, source))
        statuses.add("error")
    status: Status = "failed" if "failed" in statuses else "passed" if statuses == {"passed"} else "needs_review"
    return Decision(status, found)


def _unfinished(outcome: Outcome) -> Outcome:
    """Return an outcome without the points of one that passed."""
    return replace(outcome, status="skipped", points=0, message=UNFINISHED) if outcome.status == "passed" else outcome


def _out_of_place(number: int, source: Source) -> Outcome:
    where = "; ".join(f"line {line} {what}" for line, what in source.suspicious[:5])
    message = f"Needs manual review: the script does something that no step calls for: {where}."
    name = "Nothing in the script is unexpected"
    return Outcome(name, number, "error", 0, 0, message, "", source.suspicious[0][0])


def _unjudged(step: int, ended: Outcome) -> list[Outcome]:
    """Return the outcomes where there is nothing to compare, which the first one explains."""
    return [ended, *(check.outcome("skipped", NOT_RUN) for check in checks.of(step).up_to(step))]
