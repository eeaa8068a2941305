"""The check that a program runs to its end on every rank, which every judgement has."""

import math
from collections.abc import Sequence
from typing import Any

from course import steps
from course.internal import stalls
from grader.reading import edits
from grader.terms.facts import ARGUMENTS, HorovodFacts
from grader.terms.findings import Finding, listed
from grader.terms.report import Outcome, OutcomeStatus
from grader.terms.runs import Rank, Runs

RUNS = "The program runs to its end on every rank"
TO_THE_END = "the program runs to its last line"
TWICE = "by the clock up to twice as long, where other programs keep the cores from it"
NO_CPU = 'Look at tf.config.set_visible_devices: without "GPU" as the device type, it hides the CPU as well.'
HINTS = {  # by the error's kind
    "BdbQuit": "A debugger stops the program here, and ranks have no terminal: remove breakpoint() or pdb.set_trace().",
    "ModuleNotFoundError": (
        "Check the module's name. The judge runs this one file in the course's environment: it finds no other file of "
        "yours, and no package that is not installed there. If the program can do without it, catch ImportError."
    ),
}


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
    groups = list((runs.clusters or runs.reserved).values())
    # After a run that had to be ended there is no other, and the first one may be another check's.
    ranks = [(rank, group) for group in groups for rank in group if runs.clusters or rank.ended_for]
    if not ranks:
        return outcome("error", step, "No run of the program was seen.")
    if found := _too_much([rank for rank, _ in ranks]) or next(filter(None, map(apart, groups)), None):
        return outcome("failed", step, found.message, found.line)
    limit = f"after {seconds:g} s of its own time ({TWICE})"
    for rank, group in sorted(ranks, key=lambda ended: is_aftermath(ended[0])):
        blamed = _step(rank, step, script)
        if found := _failure(rank, group, limit, f" in a line of {steps.label(blamed)}" if blamed else "", script):
            return outcome("failed", blamed or step, found.message + _traceback(rank), found.line)
    if found := diverged(runs):
        return outcome("failed", step, found.message)
    return outcome("passed", step, "Correct.")


def diverged(runs: Runs[Any]) -> Finding | None:
    """Say on which rank and after which step weights are NaN, which makes all comparisons with them void."""
    for rank in runs.all_ranks():
        for fit in getattr(rank.facts, "fits", ()):
            for number, batch in enumerate(getattr(fit, "batches", ()), 1):
                if not all(map(math.isfinite, batch.updated)):
                    most = max(before.rate for before in fit.batches[:number])
                    return Finding(
                        seen=f"{rank.where}: weights are NaN after step {number}, at a learning rate of up to {most:g}",
                        expected="numbers",
                        hint="Look at all that sets the learning rate or scales the loss: which value is too large?",
                    )
    return None


def unfinished(ranks: Sequence[Rank[Any]]) -> Finding | None:
    """Return why the ranks of a cluster do not all run to their end, if so."""
    failures = (
        _failure(rank, ranks, "at the time limit of all clusters together") for rank in sorted(ranks, key=is_aftermath)
    )
    return apart(ranks) or next(filter(None, failures), None)


def _too_much(ranks: Sequence[Rank[Any]]) -> Finding | None:
    """Say which rank had to be ended for what it took of the machine."""
    for rank in ranks:
        if rank.ended_for == "output":
            seen = f"{rank.where} prints endlessly"
            return Finding(seen=seen, expected="a few lines per epoch", line=_line_reached(rank))
        if rank.ended_for == "memory":
            seen = f"{rank.where} was ended: the ranks together took too much memory"
            return Finding(seen=seen, expected="about as much as the solution takes")
    return None


def _line_reached(rank: Rank[Any]) -> int | None:
    """Return the line that a rank had reached when it was ended, if it could say so."""
    line: int | None = getattr(rank.facts, "lines", {}).get("waiting")
    return line


def _step(rank: Rank[Any], step: int, script: str) -> int | None:
    """Return the step whose edit the line is in which an exception ended a rank; None if it is in none."""
    lines = script.splitlines()
    if not rank.error_line or rank.error_line > len(lines):
        return None
    return edits.step_of(lines[rank.error_line - 1], step)


def _failure(
    rank: Rank[Any], group: Sequence[Rank[Any]], limit: str, where: str = "", script: str = ""
) -> Finding | None:
    """Say how a rank failed, if it did.

    Args:
        rank: the rank.
        group: all ranks of its cluster.
        limit: when a rank that does not end by itself was ended, in words.
        where: in which of the script's lines an error ended it, in words.
        script: its text.
    """
    seen, expected, hint = f"{rank.where} ends with exit status {rank.exit}", TO_THE_END, ""
    line = rank.error_line
    if rank.error and "task taken" in rank.causes:  # which of two processes was first is chance, so none is named
        seen = "Two processes do the same task of the cluster"
        expected = "each process has an index of its own, which TF_CONFIG gives"
    elif rank.ended_for == "others" or (rank.error and "shut down" in rank.causes):
        seen, expected = _waits_for_ended(rank, group), _together(rank)
    elif rank.error and "late GPU" in rank.causes:
        seen, expected = _late_gpu(rank, script), "the GPU is chosen before any collective or computation"
    elif rank.error and "locked" in rank.causes:
        seen, expected = f"{rank.where} fails: another rank writes the same file: {rank.error}", "one rank saves"
        hint = "Look for ModelCheckpoint, and other lines that save, which all ranks of a host run."
    elif rank.error:
        seen = f"{rank.where} fails{where}: {rank.error}"
        hint = NO_CPU if "no CPU" in rank.causes else HINTS.get(rank.error_kind or "") or _validates_elsewhere(group)
    elif rank.ended_for:
        seen = f"{rank.where} does not end: it was ended {limit}"
        hint, line = "Look for a loop that never ends, and for too many epochs.", _line_reached(rank)
    elif rank.exit < 0:
        seen = f"{rank.where} was killed by signal {-rank.exit}"
    elif not rank.reported:
        seen += ", and leaves no report of what it did that can be read"
        hint = "Look for os._exit, and for writes to file descriptors that the script has not opened."
    elif not rank.exit and (rank.facts.fits or getattr(rank.facts, "evaluations", [])):
        return None
    elif not rank.exit:
        if rank.name.startswith("Evaluator"):
            work, expected = "evaluating a checkpoint", "it evaluates each one that is saved"
        else:
            work, expected = "training", "it trains a model with model.fit: the judge follows no other training"
        seen = f"{rank.where} ends without {work}"
    return Finding(seen=seen, expected=expected, hint=hint, line=line)


def _late_gpu(rank: Rank[Any], script: str) -> str:
    """Say on which line TensorFlow began to use what a rank could see before it chose its GPU."""
    lines, used = script.splitlines(), getattr(rank.facts, "lines", {}).get("devices used", 0)
    at = f", on line {used}: {lines[used - 1].strip()}" if 0 < used <= len(lines) else ""
    return f"{rank.where} chooses its GPU after TensorFlow has begun to use all that it can see{at}"


def _validates_elsewhere(group: Sequence[Rank[Any]]) -> str:
    """Say that only some ranks of a cluster validate in their epochs, if so."""
    sides: dict[bool, list[str]] = {True: [], False: []}
    for rank in group if isinstance(group[0].facts, HorovodFacts) else ():
        measured = {epoch.validation_steps > 0 for fit in rank.facts.fits for epoch in fit.epochs if epoch.own}
        if len(measured) == 1:
            sides[measured.pop()].append(_short(rank))
    if not all(sides.values()):
        return ""
    return f"Validation in model.fit: on {listed(sides[True])}, and not on {listed(sides[False])}."


def _traceback(rank: Rank[Any]) -> str:
    """Return the traceback that goes with a rank's failure, on lines of its own."""
    explained = rank.error_kind == ARGUMENTS or rank.causes & {"task taken", "shut down"}
    return f"\n{rank.traceback}" if rank.traceback and not explained else ""


def _waits_for_ended(rank: Rank[Any], group: Sequence[Rank[Any]]) -> str:
    """Say what a rank waits in for ranks that have ended."""
    ended = [_short(other) for other in group if not (other.ended_for or is_aftermath(other))]
    place = f" in {stalls.in_words(rank.collective)}" if rank.collective else ""
    others = f"{ended[0]}, which has" if len(ended) == 1 else "ranks that have"
    return f"{rank.where} waits{place} for {others} already ended"


def is_aftermath(rank: Rank[Any]) -> bool:
    """Return whether a rank's end looks like the consequence of another's."""
    return bool(rank.causes & {"shut down", "connection"}) or rank.ended_for == "others"


def apart(ranks: Sequence[Rank[Any]]) -> Finding | None:
    """Say which ranks of a cluster are in which collectives, if that ended them, and which ranks are at fault.

    They wait for each other indefinitely, or Horovod fails since they call different collectives at one time.
    """
    waits = stalls.shown({_short(rank): rank.collective for rank in ranks})
    if any(rank.ended_for == "stall" for rank in ranks):
        elsewhere = {
            _short(rank): "never reaches a collective" if rank.ended_for == "stall" else "has ended" for rank in ranks
        }
        seen = f"Deadlock ({ranks[0].cluster}): {stalls.explain(waits, elsewhere)}"
    elif len(waits) > 1 and any("mismatch" in rank.causes for rank in ranks):
        places = stalls.explain(waits).replace("waits in", "calls").replace("wait in", "call")
        seen = f"The ranks call different collectives at the same time ({ranks[0].cluster}): {places}"
    else:
        return None
    hint = _validates_elsewhere(ranks) or stalls.look_at(waits) if isinstance(ranks[0].facts, HorovodFacts) else ""
    return Finding(seen=seen, expected=_together(ranks[0]), hint=hint, line=ranks[0].error_line)


def _together(rank: Rank[Any]) -> str:
    """Return what is expected of ranks that depend on each other."""
    return stalls.RULE if isinstance(rank.facts, HorovodFacts) else "all processes run to the end together"


def _short(rank: Rank[Any]) -> str:
    """Return a rank's name within a sentence."""
    return rank.name[0].lower() + rank.name[1:]
