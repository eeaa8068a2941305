"""The check of step 14: training resumes after a worker was killed."""

from pathlib import Path

from grader.checks.multi_worker.program import DIES_AFTER, KILLED, RESTARTED, THREE, part
from grader.checks.multi_worker.workers import low
from grader.checks.part import Finding
from grader.facts import TaskRank, TaskRuns
from grader.job import LOGS
from grader.runner.reading import Source


@part.check(
    14,
    needs={13},
    clusters=(THREE, KILLED, RESTARTED),
    hint="Give BackupAndRestore one folder for all workers, and the other callbacks one that is thrown away where "
    "the worker is not the chief.",
)
def restart(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Started again after a worker was killed, all go on from where they were, and the chief alone keeps files.

    How far a restart comes is compared with how far the solution's own does.
    """
    for workers in runs.topologies.values():
        finding = _files(workers, source)
        if finding:
            return finding
    killed, restarted = runs.reserved.get("killed", []), runs.reserved.get("restarted", [])
    line = source.line_of("BackupAndRestore", "callbacks")
    if len(restarted) < 2:
        return Finding("The restart after a worker was killed was not come to.", line, unclear=True)
    if not killed or not killed[0].facts.fits:
        return None  # it does not get that far, as another check says
    return _resumed(restarted, expected.reserved["restarted"][0], source, line)


def _resumed(restarted: list[TaskRank], right: TaskRank, source: Source, line: int | None) -> Finding | None:
    """Whether all workers resume at one step, no earlier than the solution does, and train to the same end."""
    expected = _ran(right)
    if not expected:
        return Finding("There is nothing to compare with: the solution's own restart did not end.", unclear=True)
    first, last = expected
    begins = []
    for rank in restarted:
        ran = _ran(rank)
        if rank.error or not ran:
            why = rank.error or "it does not get to the end of the training"
            return Finding(f"Started again after worker 1 was killed, {low(rank)} fails: {why}", line)
        begins.append(ran[0])
    if len(set(begins)) > 1:
        told = " and ".join(f"{low(rank)} {begin}" for rank, begin in zip(restarted, begins, strict=True))
        return Finding(
            f"Started again after worker 1 was killed, the workers go on from different steps: {told}.", line
        )
    if begins[0] < first:
        what = "begin anew" if not begins[0] else f"go on from step {begins[0]}"
        return Finding(
            f"Started again after worker 1 was killed in step {DIES_AFTER}, all {what}. Expected: from step {first}, "
            "the last one that --save-freq saves.",
            line,
        )
    _, end = _ran(restarted[0]) or (0, 0)
    if end != last:
        return Finding(
            f"Started again after worker 1 was killed, training ends with {end} steps behind it. Expected: {last}, as "
            "without the interruption.",
            source.line_of("BackupAndRestore", "initial_epoch"),
        )
    return None


def _ran(rank: TaskRank) -> tuple[int, int] | None:
    """Return the steps behind a training when it began and when it ended; None where it did not get to its end."""
    fit = rank.facts.fits[0] if rank.facts.fits else None
    return (fit.begin.iterations, fit.end.iterations) if fit and fit.begin and fit.end else None


def _files(workers: list[TaskRank], source: Source) -> Finding | None:
    """Whether the chief alone writes what is kept, and all workers share one backup."""
    trained = [rank for rank in workers if rank.facts.fits]
    for rank in trained:
        backup = _paths(rank, "BackupAndRestore")
        if not backup:
            message = f"{rank.where} has no BackupAndRestore. Expected: one on every worker."
            return Finding(message, source.line_of("callbacks"), explains=True)
        if backup != _paths(trained[0], "BackupAndRestore"):
            message = f"{rank.where} has its backup in another folder than {low(trained[0])}. Expected: one for all."
            return Finding(message, source.line_of("BackupAndRestore"), explains=True)
    if len(trained) < len(workers):
        return None  # it does not get that far, as another check says
    written = [_written(rank) for rank in workers]
    kept = {Path(path).parent for _, path in written[0]}
    for rank, paths in list(zip(workers, written, strict=True))[1:]:
        for what, path in paths:
            if Path(path).parent in kept:
                return Finding(
                    f"{rank.where}: {what} writes where the chief's files are kept. Expected: to a folder that is "
                    "thrown away.",
                    source.line_of("log_dir", what, "fit"),
                )
    saved = [path for what, path in written[0] if what in ("ModelCheckpoint", "save")]
    if not any(LOGS in Path(path).parts for path in saved):
        message = f"{workers[0].where}, the chief, saves no checkpoints in --log-dir."
        return Finding(message, source.line_of("ModelCheckpoint", "callbacks"))
    return None


def _paths(rank: TaskRank, kind: str) -> list[str | None]:
    """Return where callbacks of this kind write."""
    return [callback.path for callback in rank.facts.fits[0].callbacks if callback.kind == kind]


def _written(rank: TaskRank) -> list[tuple[str, str]]:
    """Return what of a worker's writes to which path, but for backups."""
    callbacks = [(callback.kind, callback.path) for callback in rank.facts.fits[0].callbacks]
    found = [(kind, path) for kind, path in callbacks if path and kind != "BackupAndRestore"]
    return found + [("save", path) for path in rank.facts.saved]
