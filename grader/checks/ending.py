"""The check that a program runs to its end on every rank, which every judgement has."""

from collections.abc import Sequence
from typing import Any

from course.internal import stalls
from grader.reading import edits
from grader.terms.facts import ARGUMENTS, HorovodFacts
from grader.terms.report import Outcome, OutcomeStatus
from grader.terms.runs import Rank, Runs

RUNS = "The program runs to its end on every rank"


def outcome(status: OutcomeStatus, step: int, message: str, line: int | None = None) -> Outcome:
    """Return an outcome of this check, which has no points."""
    return Outcome(RUNS, step, status, 0, 0, message, "", line)


def judge(runs: Runs[Any], step: int, seconds: float, script: str = "") -> Outcome:
    """Return how the ranks of a script ended. Where a line of it failed, the outcome has the step of that line's edit.

    Args:
        runs: the script's.
        step: that it is for.
        seconds: the time limit.
        script: its text.
    """
    ranks = list(runs.ranks())
    if not ranks:  # after a run that had to be ended there is no other, and the first one may be another check's
        ranks = [rank for group in runs.reserved.values() for rank in group if rank.ended_for]
    for rank in ranks:
        if rank.ended_for == "output":
            return outcome("failed", step, f"{rank.where} prints endlessly.")
        if rank.ended_for == "memory":
            return outcome("failed", step, f"{rank.where} was ended: the ranks together took too much memory.")
    for group in (runs.clusters or runs.reserved).values():
        stuck = deadlock(group) or torn(group)
        if stuck:
            return outcome("failed", step, stuck, group[0].error_line)
    for rank in sorted(ranks, key=_is_aftermath):
        blamed = _step(rank, step, script)
        failure = _failure(rank, runs, seconds, f" in a line of step {blamed}" if blamed else "")
        if failure:
            return outcome("failed", blamed or step, failure, rank.error_line)
    return outcome("passed", step, "Correct.") if ranks else outcome("error", step, "No run of the program was seen.")


def _step(rank: Rank[Any], step: int, script: str) -> int | None:
    """Return the step whose edit the line is in which an exception ended a rank; None if it is in none."""
    lines = script.splitlines()
    if not rank.error_line or rank.error_line > len(lines):
        return None
    return edits.step_of(lines[rank.error_line - 1], step)


def _failure(rank: Rank[Any], runs: Runs[Any], seconds: float, where: str) -> str | None:
    """Say how a rank failed; `where` says in which of the script's lines."""
    if rank.error and "task taken" in rank.causes:  # which of two processes was first is chance, so none is named
        return "Two processes do the same task of the cluster: each has an index of its own, and TF_CONFIG has it."
    if rank.ended_for == "others" or (rank.error and "shut down" in rank.causes):
        return _waits_for_ended(rank, runs)
    if rank.error:
        shown = f"\n{rank.traceback}" if rank.traceback and rank.error_kind != ARGUMENTS else ""
        return f"{rank.where} fails{where}: {rank.error}{shown}"
    if rank.ended_for:
        twice = "by the clock up to twice as long, where other programs keep the cores from it"
        return f"{rank.where} does not end: it was ended after {seconds:g} s of its own time ({twice})."
    if rank.exit < 0:
        return f"{rank.where} was killed by signal {-rank.exit}."
    if not rank.reported:
        return (
            f"{rank.where} ends with exit status {rank.exit}, and leaves no report of what it did that can be read. "
            "Expected: it runs to the program's last line, and writes to no file descriptor that it has not opened."
        )
    if rank.exit:
        return f"{rank.where} ends with exit status {rank.exit}."
    if not rank.facts.fits and not getattr(rank.facts, "evaluations", []):
        if rank.name.startswith("Evaluator"):
            return f"{rank.where} ends without evaluating a checkpoint. Expected: it evaluates each one that is saved."
        return f"{rank.where} ends without training. Expected: it trains a model."
    return None


def _waits_for_ended(rank: Rank[Any], runs: Runs[Any]) -> str:
    """Say what a rank waits in for ranks that have ended."""
    group = next(ranks for ranks in (runs.clusters or runs.reserved).values() if rank in ranks)
    ended = [_short(other) for other in group if not (other.ended_for or _is_aftermath(other))]
    place = f" in {stalls.in_words(rank.collective)}" if rank.collective else ""
    others = f"{ended[0]}, which has" if len(ended) == 1 else "ranks that have"
    expected = f" {stalls.EXPECTED}" if isinstance(rank.facts, HorovodFacts) else ""
    return f"{rank.where} waits{place} for {others} already ended.{expected}"


def _is_aftermath(rank: Rank[Any]) -> bool:
    """Whether a rank's end looks like the consequence of another's."""
    return bool(rank.causes & {"shut down", "connection"}) or rank.ended_for == "others"


def deadlock(ranks: Sequence[Rank[Any]]) -> str | None:
    """Say which ranks of a cluster wait where, and which are at fault, if they wait for each other indefinitely."""
    if not any(rank.ended_for == "stall" for rank in ranks):
        return None
    waits = stalls.shown(_places(ranks))
    elsewhere = {
        _short(rank): "never reaches a collective" if rank.ended_for == "stall" else "has ended" for rank in ranks
    }
    return f"Deadlock ({ranks[0].cluster}): {stalls.explain(waits, elsewhere)}.{_advice(ranks, waits)}"


def torn(ranks: Sequence[Rank[Any]]) -> str | None:
    """Say where the ranks of a cluster are, if Horovod fails since they call different collectives at one time."""
    waits = stalls.shown(_places(ranks))
    if len(waits) < 2 or not any("mismatch" in rank.causes for rank in ranks):
        return None
    where = stalls.explain(waits).replace("waits in", "calls").replace("wait in", "call")
    return (
        f"The ranks call different collectives at the same time ({ranks[0].cluster}): {where}.{_advice(ranks, waits)}"
    )


def _places(ranks: Sequence[Rank[Any]]) -> dict[str, str]:
    return {_short(rank): rank.collective for rank in ranks}


def _short(rank: Rank[Any]) -> str:
    """Return a rank's name within a sentence."""
    return rank.name[0].lower() + rank.name[1:]


def _advice(ranks: Sequence[Rank[Any]], waits: list[stalls.Wait]) -> str:
    return f" {stalls.advice(waits)}" if isinstance(ranks[0].facts, HorovodFacts) else ""
