"""The checks of step 14: who writes what, and how training resumes after a worker was killed."""

import re
from pathlib import Path

from grader.checks.multi_worker.mnist_multi_worker import DIES_AFTER, KILLED, RESTARTED, SAVE_FREQ, THREE, part
from grader.checks.multi_worker.workers import in_scope, low, not_seen, strategy_first
from grader.checks.training import close
from grader.reading.parsing import Source
from grader.terms.clusters import LOGS
from grader.terms.facts import Save, TaskFit
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import TaskRank, TaskRuns

AFTER = "Started again after worker 1 was killed"


@part.check(
    14,
    points=1,
    asks=("Let the chief write to `args.log_dir`",),
    needs=(in_scope,),
    clusters=(THREE, KILLED, RESTARTED),
    hint="The chief's folder is args.log_dir, as before.",
)
def chief_writes(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The chief writes to --log-dir"""
    for chief, *_ in runs.clusters.values():
        for what, path in _written(chief):
            if not _is_below_logs(path):
                return Finding(
                    seen=f"{chief.where}, the chief: {what} writes to {path}. Expected: to --log-dir.",
                    line=source.line_of("log_dir", what),
                )
    return None


@part.check(
    14,
    points=2,
    asks=("every other worker to a folder that is thrown away", "It is gone when the program has ended."),
    needs=(strategy_first,),
    hint="tempfile has a folder that goes with the program.",
)
def thrown_away(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Every other worker writes to a folder that is gone when the program has ended"""
    errors = [rank.error for rank in runs.ranks() if rank.error]
    for chief, *others in runs.clusters.values():
        unseen = next((rank for rank in (chief, *others) if not rank.facts.fits), None)
        if unseen:
            return not_seen(unseen, "trains")
        kept = {Path(path).parent for _, path in _written(chief)}
        for rank in others:
            for what, path in _written(rank):
                if Path(path).parent in kept:
                    return Finding(
                        seen=f"{rank.where}: {what} writes where the chief's files are kept, to {path}. Expected: to a "
                        "folder that is thrown away.",
                        line=source.line_of("log_dir", what, "fit"),
                        # Two that write to one folder take each other's files away, or not, by chance.
                        explains=any(f"{Path(path).parent.name}/" in error for error in errors),
                    )
            if rank.facts.remains and not (rank.error or rank.ended_for):
                return Finding(
                    seen=f"{rank.where} leaves {rank.facts.remains[0]} when the program has ended. Expected: what a worker "
                    "other than the chief writes to is removed.",
                    line=source.line_of("TemporaryDirectory", "mkdtemp", "log_dir"),
                )
    return None


@part.check(
    14,
    points=1,
    asks=("Save checkpoints after every `args.save_freq` steps", "All workers take part in saving."),
    needs=(in_scope,),
    hint="save_freq is an argument of ModelCheckpoint, too, in steps.",
)
def checkpoints(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """All workers save a checkpoint after every --save-freq steps"""
    line = source.line_of("save_freq", "ModelCheckpoint", "callbacks")
    for name, workers in runs.clusters.items():
        for rank in workers:
            solution = expected.clusters[name][rank.number].facts.fits[0]
            finding = _often(rank, rank.facts.saves, "checkpoint", line) or _other_weights(rank, solution, line)
            if finding:
                return finding
    for rank, right in zip(runs.reserved.get("restarted", []), expected.reserved["restarted"], strict=False):
        found, wanted = rank.found.checkpoint, right.found.checkpoint
        if rank.reported and wanted and (not found or found.iterations != wanted.iterations):
            newest = f"is that of step {found.iterations}" if found else "is missing, or of another format"
            return Finding(
                seen=f"{AFTER}, the newest checkpoint for {low(rank)} in --log-dir/checkpoints {newest}. Expected: that of "
                f"step {wanted.iterations}, which tf.train.latest_checkpoint finds.",
                line=source.line_of("ModelCheckpoint", "callbacks"),
            )
    return None


@part.check(
    14,
    points=1,
    asks=("one folder for all workers, below `args.log_dir`", "So there is one backup, in a folder that **all** can"),
    needs=(strategy_first,),
    hint="Every worker gets BackupAndRestore, with the same folder.",
)
def one_backup(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """All workers back up to one folder below --log-dir"""
    for workers in runs.clusters.values():
        unseen = next((rank for rank in workers if not rank.facts.fits), None)
        if unseen:
            return not_seen(unseen, "trains")
        first = _backups(workers[0])
        for rank in workers:
            own = _backups(rank)
            if not own:
                message = f"{rank.where} trains without BackupAndRestore. Expected: one on every worker."
                return Finding(seen=message, line=source.line_of("callbacks"), explains=True)
            if own != first:
                return Finding(
                    seen=f"{rank.where} has its backup in {own[0]}, and {low(workers[0])} in {first[0]}. Expected: one "
                    "folder for all workers, since the chief's backup is the only one.",
                    line=source.line_of("BackupAndRestore"),
                    explains=True,
                )
            if not _is_below_logs(own[0]):
                message = f"{rank.where} has its backup in {own[0]}. Expected: in a folder below --log-dir."
                return Finding(seen=message, line=source.line_of("BackupAndRestore"))
    return None


@part.check(
    14,
    points=1,
    asks=("with a backup after every `args.save_freq` steps", "saves a backup every so many steps"),
    needs=(one_backup,),
    hint="save_freq is an argument of BackupAndRestore, too, in steps.",
)
def backups(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """A backup is made after every --save-freq steps"""
    line = source.line_of("BackupAndRestore")
    found = (_often(chief, chief.facts.backups, "backup", line) for chief, *_ in runs.clusters.values())
    return next(filter(None, found), None)


@part.check(
    14,
    points=2,
    asks=("Every worker loads it when it starts.", "Add the callback that backs up and restores"),
    needs=(one_backup,),
    hint="BackupAndRestore restores as training begins, where it finds what the killed workers left.",
)
def resumed(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Started again after a worker was killed, all workers resume from the last backup

    How far a restart gets is compared with how far the solution's own does.
    """
    line = source.line_of("BackupAndRestore", "callbacks")
    killed, workers = runs.reserved.get("killed", []), runs.reserved.get("restarted", [])
    right = expected.reserved["restarted"][0].facts.fits[0]
    if not right.begin or not right.end:
        return Unclear(seen="The solution's own restart did not end, so there is nothing to compare with.")
    if not killed or not killed[0].facts.fits:
        return Untold(seen="the workers that one is killed of do not start to train.", line=line)
    if not workers:
        return Untold(seen="after a worker was killed, the program was not started again.")
    for rank in workers:
        begin = rank.facts.fits[0].begin if rank.facts.fits else None
        if not begin:
            continue
        if not rank.facts.fits[0].restored:
            return Finding(
                seen=f"{AFTER}, {low(rank)} finds no backup in {_backups(rank)[0]}. Expected: that of step "
                f"{right.begin.iterations}, which the chief has made before.",
                line=line,
            )
        if begin.iterations != right.begin.iterations:
            return Finding(
                seen=f"{AFTER} in step {DIES_AFTER}, {low(rank)} resumes from step {begin.iterations}. Expected: from "
                f"step {right.begin.iterations}, the last multiple of --save-freq.",
                line=line,
            )
        if not rank.facts.fits[0].found:
            return Finding(
                seen=f"{AFTER}, {low(rank)} continues from step {begin.iterations}, with weights that are in no backup. "
                "Expected: the weights of that step.",
                line=line,
            )
    failed = [rank for rank in workers if rank.error or not rank.facts.fits or not rank.facts.fits[0].end]
    if failed:
        rank = min(failed, key=lambda each: "connection" in each.causes)  # the one that others fail of
        why = rank.error or "it does not get to the end of the training"
        return Finding(seen=f"{AFTER}, {low(rank)} fails: {why}", line=rank.error_line or line)
    if not killed[0].facts.fits[0].epochs:
        return Untold(seen="the workers that one is killed of do not train for an epoch.", line=line)
    last = len(expected.clusters["three-workers"][0].facts.fits[0].epochs) * killed[0].facts.fits[0].epochs[0]
    for rank in workers:
        end = rank.facts.fits[0].end
        if end and end.iterations != last:
            return Finding(
                seen=f"{AFTER}, {low(rank)} ends the training with {end.iterations} steps behind it. Expected: {last}, as "
                "without the interruption.",
                line=source.line_of("BackupAndRestore", "initial_epoch"),
            )
    return None


@part.check(
    14,
    points=2,
    asks=("After `fit`, save the weights under the name of the last epoch", "with the other checkpoints"),
    needs=(in_scope,),
    hint="All workers save once more after fit, each where it saved before, with the number that is in --epochs.",
)
def last_save(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """In the end the newest checkpoint has the steps of all epochs, and the last epoch's name"""
    line = source.line_of("save_weights", "save", "fit")
    for name, workers in runs.clusters.items():
        chief, right = workers[0], expected.clusters[name][0].left.checkpoint
        end, left = _end(chief), chief.left.checkpoint
        # What other workers save there is there already, or not yet, by chance.
        if not left or not any(_is_below_logs(save.path) for save in chief.facts.saves):
            message = f"{chief.where}, the chief, leaves no checkpoint in --log-dir/checkpoints."
            return Finding(seen=f"{message} Expected: the weights after the last step.", line=line)
        if left.iterations != end:
            return Finding(
                seen=f"{chief.where}, the chief: the newest checkpoint in --log-dir/checkpoints, {Path(left.path).name}, "
                f"has {left.iterations} of the {end} steps. Expected: all of them.",
                line=line,
            )
        last = next(
            (save for save in reversed(chief.facts.saves) if Path(save.path).name == Path(left.path).name), None
        )
        fit, solution = chief.facts.fits[0], expected.clusters[name][0].facts.fits[0]
        if not (last and fit.end and solution.end and close(last.weights, fit.end.weights, solution.end.weights)):
            return Finding(
                seen=f"{chief.where}, the chief: the newest checkpoint in --log-dir/checkpoints, {Path(left.path).name}, "
                "was saved with other weights than those that training ended with. Expected: the weights after the "
                "last step.",
                line=line,
            )
        if right and _number(left) != _number(right):
            return Finding(
                seen=f"{chief.where}, the chief: the last checkpoint is named {Path(left.path).name}. Expected: the name "
                f"with the number of the last epoch, as in {Path(right.path).name}.",
                line=line,
            )
        others = {_series(save) for save in chief.facts.saves if save.iterations < end}
        if others and _series(left) not in others:
            return Finding(
                seen=f"{chief.where}, the chief: the last checkpoint is named {Path(left.path).name}, and those before it "
                f"{min(others)}… Expected: the same name, with the number of the last epoch.",
                line=line,
            )
        for rank in workers:
            if _end(rank) not in [save.iterations for save in rank.facts.saves]:
                message = f"{rank.where} takes no part in saving after the last step. Expected: all workers do."
                return Finding(seen=message, line=line)
    return None


def _other_weights(rank: TaskRank, right: TaskFit, line: int | None) -> Finding | None:
    """Whether a checkpoint has weights that training never had after a step, on the scale of the solution's."""
    scale = right.end.weights if right.end else None
    fits = rank.facts.fits
    had = [weights for fit in fits for weights in (*fit.updates, *fit.weights)]
    had += [now.weights for fit in fits for now in (fit.entered, fit.begin, fit.end) if now and fit.updates]
    for save in rank.facts.saves if had else ():
        if not any(close(save.weights, weights, scale) for weights in had):
            message = (
                f"{rank.where} saves a checkpoint after step {save.iterations} whose weights are not the model's. "
            )
            return Finding(seen=f"{message}Expected: those that the step led to.", line=line)
    return None


def _often(rank: TaskRank, saves: list[Save], what: str, line: int | None) -> Finding | None:
    """Return a Finding where something is not saved after every --save-freq steps, or more often."""
    fit, end = rank.facts.fits[0], _end(rank)
    wanted = set(range(SAVE_FREQ, end, SAVE_FREQ))
    made = {save.iterations for save in saves}
    ends = {sum(fit.epochs[:number]) for number in range(len(fit.epochs) + 1)}
    wrong = sorted((wanted - made) | (made - wanted - ends - {end}))
    if not wrong:
        return None
    if not made & set(range(1, end)):
        seen = f"makes no {what}" if what == "backup" else "takes no part in saving checkpoints during training"
    elif wrong[0] in made:
        seen = f"makes a {what} after step {wrong[0]}"
    else:
        seen = f"makes no {what} after step {wrong[0]}"
    return Finding(
        seen=f"{rank.where} {seen}. Expected: after every {SAVE_FREQ} steps, which --save-freq is.", line=line
    )


def _end(rank: TaskRank) -> int:
    """Return the steps behind a training that has ended."""
    end = rank.facts.fits[0].end
    return end.iterations if end else 0


def _backups(rank: TaskRank) -> list[str]:
    """Return where a worker's BackupAndRestore keeps the backup."""
    callbacks = rank.facts.fits[0].callbacks if rank.facts.fits else []
    return [callback.path for callback in callbacks if callback.kind == "BackupAndRestore" and callback.path]


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
