"""The checks of step 14: who writes what, and how training resumes after a worker was killed."""

import re
from pathlib import Path

from grader.checks.multi_worker.mnist_multi_worker import DIES_AFTER, KILLED, RESTARTED, SAVE_FREQ, THREE, part
from grader.checks.multi_worker.workers import in_scope, low, not_seen, strategy_first
from grader.reading.parsing import Source
from grader.terms.clusters import LOGS
from grader.terms.facts import Save
from grader.terms.findings import Finding, Untold
from grader.terms.runs import TaskRank, TaskRuns

AFTER = "Started again after worker 1 was killed"


@part.check(
    14,
    points=1,
    asks=("The chief writes to `args.log_dir`.",),
    look_at=("log_dir", "callbacks"),
    needs=(in_scope,),
    clusters=(THREE, KILLED, RESTARTED),
    hint="The chief's folder is args.log_dir, as before.",
)
def chief_writes(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The chief writes to --log-dir"""
    for chief, *_ in runs.clusters.values():
        for what, path in _written(chief):
            if not _is_below_logs(path):
                return Finding(seen=f"{chief.where}, the chief: {what} writes to {path}", expected="to --log-dir")
    return None


@part.check(
    14,
    points=2,
    asks=("Every other worker writes to a temporary folder", "deleted when the program ends"),
    look_at=("log_dir", "callbacks"),
    needs=(strategy_first,),
    hint="tempfile has a folder that goes with the program.",
)
def thrown_away(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Every other worker writes to a folder that is gone when the program has ended"""
    errors = [rank.error for rank in runs.ranks() if rank.error]
    for chief, *others in runs.clusters.values():
        if unseen := _untrained([chief, *others]):
            return unseen
        kept = {Path(path).parent for _, path in _written(chief)}
        for rank in others:
            for what, path in _written(rank):
                if Path(path).parent in kept:
                    return Finding(
                        seen=f"{rank.where}: {what} writes where the chief's files are kept, to {path}",
                        expected="to a folder that is thrown away",
                        # Two that write to one folder take each other's files away, or not, by chance.
                        explains=any(f"{Path(path).parent.name}/" in error for error in errors),
                    )
            if rank.facts.remains and not (rank.error or rank.ended_for):
                return Finding(
                    seen=f"{rank.where} leaves {rank.facts.remains[0]} when the program has ended",
                    expected="what a worker other than the chief writes to is removed",
                    line=source.line_of("TemporaryDirectory", "mkdtemp"),
                )
    return None


@part.check(
    14,
    points=1,
    asks=("Save checkpoints after every `args.save_freq` steps", "All workers take part in saving."),
    look_at=("save_freq", "ModelCheckpoint", "callbacks"),
    needs=(in_scope,),
    hint="save_freq is an argument of ModelCheckpoint, too, in steps.",
)
def checkpoints(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """All workers save a checkpoint after every --save-freq steps"""
    for rank in runs.ranks():
        if finding := _often(rank, rank.facts.saves, "checkpoint"):
            return finding
    for rank, right in zip(runs.reserved.get("restarted", []), expected.reserved["restarted"], strict=False):
        found, wanted = rank.found.checkpoint, right.found.checkpoint
        if rank.reported and wanted and (not found or found.iterations != wanted.iterations):
            newest = f"is that of step {found.iterations}" if found else "is missing, or of another format"
            return Finding(
                seen=f"{AFTER}, the newest checkpoint for {low(rank)} in --log-dir/checkpoints {newest}",
                expected=f"that of step {wanted.iterations}, which tf.train.latest_checkpoint finds",
                line=source.line_of("ModelCheckpoint"),
            )
    return None


@part.check(
    14,
    points=1,
    asks=("one folder for all workers, below `args.log_dir`", "So there is one backup, in a folder that **all** can"),
    look_at=("BackupAndRestore", "callbacks"),
    needs=(strategy_first,),
    hint="Every worker gets BackupAndRestore, with the same folder.",
)
def one_backup(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """All workers back up to one folder below --log-dir"""
    for workers in runs.clusters.values():
        if unseen := _untrained(workers):
            return unseen
        first = _backup(workers[0])
        for rank in workers:
            own = _backup(rank)
            if not own:
                seen = f"{rank.where} trains without BackupAndRestore"
                return Finding(seen=seen, expected="one on every worker", explains=True)
            if own != first:
                return Finding(
                    seen=f"{rank.where} has its backup in {own}, and {low(workers[0])} in {first}",
                    expected="one folder for all workers, since the chief's backup is the only one",
                    explains=True,
                )
            if not _is_below_logs(own):
                seen = f"{rank.where} has its backup in {own}"
                return Finding(seen=seen, expected="in a folder below --log-dir")
    return None


@part.check(
    14,
    points=1,
    asks=("with a backup after every `args.save_freq` steps", "saves a backup every so many steps"),
    look_at=("BackupAndRestore",),
    needs=(one_backup,),
    hint="save_freq is an argument of BackupAndRestore, too, in steps.",
)
def backups(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """A backup is made after every --save-freq steps"""
    found = (_often(chief, chief.facts.backups, "backup") for chief, *_ in runs.clusters.values())
    return next(filter(None, found), None)


@part.check(
    14,
    points=2,
    asks=("Every worker loads it when it starts.", "Add `BackupAndRestore`"),
    look_at=("BackupAndRestore", "callbacks"),
    needs=(one_backup,),
    hint="BackupAndRestore restores as training begins, where it finds what the killed workers left.",
)
def resumed(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Started again after a worker was killed, all workers resume from the last backup

    How far a restart gets is compared with how far the solution's own does.
    """
    killed, workers = runs.reserved.get("killed", []), runs.reserved.get("restarted", [])
    right = expected.reserved["restarted"][0].facts.fits[0]
    assert right.begin
    if not killed or not killed[0].facts.fits:
        return Untold(seen="the workers that one is killed of do not start to train")
    if not workers:
        return Untold(seen="after a worker was killed, the program was not started again")
    for rank in workers:
        fit = rank.facts.fits[0] if rank.facts.fits else None
        if not fit or not fit.begin:
            continue
        if not fit.restored:
            return Finding(
                seen=f"{AFTER}, {low(rank)} finds no backup in {_backup(rank)}",
                expected=f"that of step {right.begin.iterations}, which the chief has made before",
            )
        if fit.begin.iterations != right.begin.iterations:
            return Finding(
                seen=f"{AFTER} in step {DIES_AFTER}, {low(rank)} resumes from step {fit.begin.iterations}",
                expected=f"from step {right.begin.iterations}, the last multiple of --save-freq",
            )
    failed = [rank for rank in workers if rank.error or not rank.facts.fits or not rank.facts.fits[0].end]
    if failed:
        rank = min(failed, key=lambda each: "connection" in each.causes)  # the one that others fail of
        seen = f"{AFTER}, {low(rank)} fails: {rank.error or 'it does not get to the end of the training'}"
        return Finding(seen=seen, expected="it trains to the end", line=rank.error_line)
    if not killed[0].facts.fits[0].epochs:
        return Untold(seen="the workers that one is killed of do not train for an epoch")
    last = len(expected.clusters["three-workers"][0].facts.fits[0].epochs) * killed[0].facts.fits[0].epochs[0]
    for rank in workers:
        if _end(rank) != last:
            return Finding(
                seen=f"{AFTER}, {low(rank)} ends the training with {_end(rank)} steps behind it",
                expected=f"{last}, as without the interruption",
            )
    return None


@part.check(
    14,
    points=2,
    asks=("After `fit`, save the weights under the name of the last epoch", "with the other checkpoints"),
    look_at=("save_weights", "save", "fit"),
    needs=(in_scope,),
    hint="All workers save once more after fit, each where it saved before, with the number that is in --epochs.",
)
def last_save(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """In the end the newest checkpoint has the steps of all epochs, and the last epoch's name"""
    for name, workers in runs.clusters.items():
        chief, right = workers[0], expected.clusters[name][0].left.checkpoint
        who = f"{chief.where}, the chief"
        end, left = _end(chief), chief.left.checkpoint
        # What other workers save there is there already, or not yet, by chance.
        if not left or not any(_is_below_logs(save.path) for save in chief.facts.saves):
            seen = f"{who}, leaves no checkpoint in --log-dir/checkpoints"
            return Finding(seen=seen, expected="the weights after the last step")
        newest = Path(left.path).name
        if left.iterations != end:
            return Finding(
                seen=f"{who}: the newest checkpoint in --log-dir/checkpoints, {newest}, has {left.iterations} of the "
                f"{end} steps",
                expected="all of them",
            )
        if right and _number(left) != _number(right):
            return Finding(
                seen=f"{who}: the last checkpoint is named {newest}",
                expected=f"the name with the number of the last epoch, as in {Path(right.path).name}",
            )
        others = {_series(save) for save in chief.facts.saves if save.iterations < end}
        if others and _series(left) not in others:
            return Finding(
                seen=f"{who}: the last checkpoint is named {newest}, and those before it {min(others)}…",
                expected="the same name, with the number of the last epoch",
            )
        for rank in workers:
            if _end(rank) not in [save.iterations for save in rank.facts.saves]:
                seen = f"{rank.where} takes no part in saving after the last step"
                return Finding(seen=seen, expected="all workers do")
    return None


def _often(rank: TaskRank, saves: list[Save], what: str) -> Finding | None:
    """Return a Finding where something is not saved after every --save-freq steps, or more often."""
    fit, end = rank.facts.fits[0], _end(rank)
    wanted = set(range(SAVE_FREQ, end, SAVE_FREQ))
    made = {save.iterations for save in saves}
    ends = {sum(fit.epochs[:number]) for number in range(len(fit.epochs) + 1)}
    wrong = sorted((wanted - made) | (made - wanted - ends - {end}))
    if not wrong:
        return None
    if not made & set(range(1, end)):
        does = f"makes no {what}" if what == "backup" else "takes no part in saving checkpoints during training"
    else:
        does = f"makes {'a' if wrong[0] in made else 'no'} {what} after step {wrong[0]}"
    return Finding(seen=f"{rank.where} {does}", expected=f"after every {SAVE_FREQ} steps, which --save-freq is")


def _untrained(workers: list[TaskRank]) -> Finding | None:
    """Return a Finding where a worker never calls model.fit."""
    return next((not_seen(rank, "trains") for rank in workers if not rank.facts.fits), None)


def _end(rank: TaskRank) -> int:
    """Return the steps behind a training that has ended."""
    end = rank.facts.fits[0].end
    return end.iterations if end else 0


def _backup(rank: TaskRank) -> str | None:
    """Return where a worker's BackupAndRestore keeps the backup, if it has one."""
    callbacks = rank.facts.fits[0].callbacks
    return next((callback.path for callback in callbacks if callback.kind == "BackupAndRestore"), None)


def _written(rank: TaskRank) -> list[tuple[str, str]]:
    """Return what of a worker's writes to which path, but for backups."""
    callbacks = [(callback.kind, callback.path) for callback in rank.facts.fits[0].callbacks]
    found = [(kind, path) for kind, path in callbacks if path and kind != "BackupAndRestore"]
    return found + [("save_weights", path) for path in dict.fromkeys(save.path for save in rank.facts.saves)]


def _is_below_logs(path: str) -> bool:
    return LOGS in Path(path).parts


def _series(save: Save) -> str:
    """Return a checkpoint's name without its number."""
    return re.sub(r"\d+$", "", Path(save.path).name)


def _number(save: Save) -> int | None:
    """Return the number at the end of a checkpoint's name."""
    found = re.search(r"(\d+)$", Path(save.path).name)
    return int(found[1]) if found else None
