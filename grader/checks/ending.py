"""The check that a program runs to its end on every rank, which every judgement has."""

from typing import Any

from grader.facts import ARGUMENTS, Rank, Runs
from grader.report.data import Outcome, OutcomeStatus

RUNS = "The program runs to its end on every rank"


def outcome(status: OutcomeStatus, step: int, message: str, line: int | None = None) -> Outcome:
    """Return an outcome of this check, which has no points."""
    return Outcome(RUNS, step, status, 0, 0, message, "", line)


def judge(runs: Runs[Any], step: int, seconds: float) -> Outcome:
    """Return how the ranks of a script ended, at a step.

    Args:
        runs: the script's.
        step: its number.
        seconds: the time limit.
    """
    ranks = list(runs.ranks())
    for rank in ranks:
        if rank.ended_for == "output":
            return outcome("failed", step, f"{rank.where} prints without end.")
        if rank.ended_for == "memory":
            return outcome("failed", step, f"{rank.where} was ended: the ranks together took too much memory.")
    stalled = _stall(runs)
    if stalled:
        return outcome("failed", step, stalled)
    for rank in sorted(ranks, key=_is_aftermath):
        failure = _failure(rank, seconds)
        if failure:
            return outcome("failed", step, failure, rank.error_line)
    return outcome("passed", step, "As it should be.")


def _failure(rank: Rank[Any], seconds: float) -> str | None:
    """Say how a rank failed."""
    if rank.error:
        return _error(rank)
    if rank.ended_for == "others":
        return f"{rank.where} waits for a rank that has ended already."
    if rank.ended_for:
        return f"{rank.where} does not end: it was ended after {seconds:g} s."
    if rank.exit < 0:
        return f"{rank.where} was killed by signal {-rank.exit}."
    if not rank.reported:
        return f"{rank.where} ends before the program does (exit status {rank.exit})."
    if rank.exit:
        return f"{rank.where} ends with exit status {rank.exit}."
    if not rank.facts.fits and not getattr(rank.facts, "evaluations", []):
        return f"{rank.where} ends without training."
    return None


def _error(rank: Rank[Any]) -> str:
    """Say which error ended a rank."""
    if "task taken" in rank.causes:  # which of two processes was first is chance, so none is named
        return "Two processes do the same task of the cluster: each has an index of its own, and TF_CONFIG has it."
    if "shut down" in rank.causes:
        return f"{rank.where} fails: it waits in a collective for a rank that has ended already"
    shown = f"\n{rank.traceback}" if rank.traceback and rank.error_kind != ARGUMENTS else ""
    return f"{rank.where} fails: {rank.error}{shown}"


def _is_aftermath(rank: Rank[Any]) -> bool:
    """Whether a rank's end looks like the consequence of another's."""
    return bool(rank.causes & {"shut down", "connection"}) or rank.ended_for == "others"


def _stall(runs: Runs[Any]) -> str | None:
    """Say which ranks wait where, if those of a topology wait for each other indefinitely."""
    for ranks in runs.topologies.values():
        if any(rank.ended_for == "stall" for rank in ranks):
            places = [
                f"{rank.name.lower()} {_place(rank)}" for rank in sorted(ranks, key=lambda rank: not rank.collective)
            ]
            return f"The ranks wait for each other for good ({ranks[0].topology}): {', '.join(places)}."
    return None


def _place(rank: Rank[Any]) -> str:
    if rank.ended_for != "stall":
        return "has ended"
    return f"is in {rank.collective}" if rank.collective else "never gets to a collective"
