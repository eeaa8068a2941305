"""The checks of step 10: checkpoints, and training that resumes from the newest one.

A program is run on two hosts, and then started again in the same folders. In between the judge adds copies of
checkpoints: that of the first epoch is named like the ninth, that of the last like the tenth, and the other host gets
files that are named like the newest and like a newer one.
"""

import ast
import re
from itertools import takewhile
from pathlib import Path

from grader.checks.production.imagenet_resnet50 import EPOCHS, FIRST, NEWEST, RESUMED, part
from grader.checks.training import close
from grader.reading.parsing import Source
from grader.terms.clusters import CHECKPOINT, LOGS
from grader.terms.facts import Fit, Projection, State
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import HorovodRank, HorovodRuns

LEAST = 0.5  # of the size of the largest checkpoint
SAVERS = "save", "ModelCheckpoint", "save_weights", "SaveCheckpoint"  # where scripts save
NO_TRAINING = "started again, rank {} does not reach training."
SETTERS = "load_model", "load_weights", "set_weights", "initial_epoch"  # and where they load


# --- How checkpoints are written --------------------------------------------------------------------------------------


@part.check(
    10,
    points=2,
    asks=("at the end of each epoch", "training is saved after every epoch"),
    clusters=RESUMED,
    hint="Save in the callback's on_epoch_end, in each epoch, whatever its metrics are.",
)
def saved_each_epoch(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Rank 0 saves a checkpoint at the end of every epoch.

    Looks at which files of --log-dir are new when all callbacks have ended an epoch.
    """
    for ranks in runs.clusters.values():
        epochs = ranks[0].facts.fits[0].epochs if ranks[0].facts.fits else []
        finding = _saves(ranks[0], ranks[0].where, source)
        if finding or not epochs or epochs[-1].saved is None:
            return finding or _cut_short(ranks)
    again = runs.reserved.get("resumed")
    return _saves(again[0], "Started again, rank 0", source) if again and not again[0].error else None


def _saves(rank: HorovodRank, where: str, source: Source) -> Finding | None:
    """Return a Finding where an epoch leaves no checkpoint, or a part of one."""
    if not rank.facts.fits:
        return None
    fit = rank.facts.fits[0]
    for number, epoch in enumerate(fit.epochs, fit.initial_epoch + 1):
        if epoch.saved is not None and not epoch.saved:
            message = (
                f"{where} ends epoch {number} without a new file in --log-dir whose name begins with {CHECKPOINT}. "
                "Expected: a checkpoint after every epoch."
            )
            return Finding(seen=message, line=source.line_of(*SAVERS))
        if 0 < epoch.size < LEAST * max(other.size for other in fit.epochs):
            message = f"{where} ends epoch {number} with a checkpoint of {epoch.size} bytes, a part of what another "
            return Finding(seen=f"{message}one has. Expected: the whole model.", line=source.line_of(*SAVERS))
    return None


@part.check(
    10,
    points=2,
    asks=("first under another name, which is then changed into the checkpoint's",),
    hint="Save under a name that no checkpoint has, in the same folder. Path.replace then changes it.",
)
def renamed(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """A file has a checkpoint's name only once it is whole.

    Looks at which files rank 0 opened for writing, by whatever library.
    """
    seen = False
    for name, ranks in runs.clusters.items():
        should = expected.clusters[name][0].facts.fits
        own = ranks[0].facts.fits
        known = {saved for epoch in should[0].epochs for saved in epoch.saved or []} if should else set()
        saved = {saved for epoch in own[0].epochs for saved in epoch.saved or []} if own else set()
        partial = sorted(saved & {*own[0].unfinished}) if own else []
        if partial:
            message = (
                f"{ranks[0].where} still writes {partial[0]} after a rename to this name: a kill in between leaves a "
                "truncated file that looks like a checkpoint. Expected: a rename when the file is whole, and closed."
            )
            return Finding(seen=message, line=source.line_of(*SAVERS))
        direct = sorted((saved & known or saved) & _written(own[0].wrote)) if own else []
        if direct:
            message = (
                f"{ranks[0].where} writes {direct[0]} under this name: a kill in mid-write leaves a truncated file "
                "that looks like a checkpoint. Expected: another name until the file is whole, then a rename."
            )
            return Finding(seen=message, line=source.line_of(*SAVERS))
        seen |= bool(saved)
    return None if seen else Untold(seen="the program leaves no checkpoint.")


@part.check(
    10,
    points=1,
    asks=("Let rank 0, and no other rank, save by your callback.",),
    hint="Append the callback to the list only where hvd.rank() is 0.",
)
def one_writer(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """No rank but rank 0 writes checkpoints."""
    for ranks in runs.clusters.values():
        for rank in ranks[1:]:
            fit = rank.facts.fits[0] if rank.facts.fits else None
            if fit and (fit.wrote or fit.renamed):
                message = f"{rank.where} writes {(fit.wrote or fit.renamed)[0]}. Expected: rank 0 alone saves."
                return Finding(seen=message, line=source.line_of(*reversed(SAVERS)), explains=True)
    for ranks in runs.clusters.values():
        if not all(rank.facts.fits and rank.facts.fits[0].epochs for rank in ranks):
            return _cut_short(ranks)
        if not any(epoch.saved for epoch in ranks[0].facts.fits[0].epochs):
            return Untold(seen=f"{ranks[0].where} saves no checkpoint.")
    return None


# --- Where a restart resumes ------------------------------------------------------------------------------------------


@part.check(
    10,
    points=2,
    asks=(
        "broadcast its epoch to all ranks, by `broadcast_object`",
        "Another collective is as good.",
        "Let rank 0 alone look for the newest checkpoint, which is the one after the most epochs",
        "Files on other hosts do not count",
        "a job that is started again resumes from there",
        "All ranks have to agree then",
        "only rank 0 has written checkpoints",
    ),
    hint="Rank 0 compares the numbers in the names and sends the highest by broadcast_object. All ranks give it to "
    "model.fit as initial_epoch.",
)
def goes_on(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again, all ranks resume after the epoch of rank 0's newest checkpoint."""
    after = _again(runs)
    if isinstance(after, Finding):
        return after
    for rank in after:  # its end stops the others at any time
        if rank.error and not rank.facts.fits and not rank.causes & {"shut down", "connection"}:
            return Untold(seen=NO_TRAINING.format(rank.number))
    # A program that counts its checkpoints, or keeps the number elsewhere, does not see copies.
    newest, original, named = _newest(runs)
    began = {rank.number: rank.facts.fits[0].initial_epoch for rank in after if rank.facts.fits}
    wrong = [epoch for epoch in began.values() if epoch not in (newest, original)]
    if wrong or len({*began.values()}) > 1:
        which = " and ".join(f"rank {number} with epoch {epoch + 1}" for number, epoch in began.items())
        message = f"Started again, {which.replace(' with', ' begins with', 1)}. Rank 0's newest checkpoint is that "
        message += f"after epoch {newest}. Expected: epoch {newest + 1} on every rank."
        if named != original:
            message += f" At first, the checkpoint after epoch {original} is called {CHECKPOINT}{named}."
        elif newest == NEWEST and {*began.values()} == {NEWEST - 1}:
            message += f" As text, {NEWEST - 1} sorts after {NEWEST}; and the file written last need not be it."
        if NEWEST + 1 in wrong:
            message += f" Rank 1's host has a file of that name, {CHECKPOINT}{NEWEST + 1}.h5, of another run."
        return Finding(seen=message, line=_line_of_epoch(after, source))
    return next((Untold(seen=NO_TRAINING.format(rank.number)) for rank in after if not rank.facts.fits), None)


@part.check(
    10,
    points=2,
    asks=(
        "the whole model",
        "on everything that the checkpoint holds",
        "the weights and the optimizer of the checkpoint",
    ),
    needs=(goes_on,),
    hint="model.save keeps weights and optimizer; hvd.load_model restores both. Use the model that it returns.",
)
def state_restored(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again, rank 0 has the weights and the optimizer that it ended with."""
    after = _again(runs)
    if isinstance(after, Finding):
        return after
    if not after[0].facts.fits:
        return Untold(seen=NO_TRAINING.format(0))
    first = [rank.facts.fits[0] for rank in runs.clusters[FIRST["resumed"]]]
    end, begin = first[0].end, after[0].facts.fits[0].begin
    line = source.line_of(*SETTERS)
    if end is None:
        return Untold(seen="the first training does not end.")
    right = expected.clusters[FIRST["resumed"]][0].facts.fits[0].end
    if right is None or not close(end.weights, begin.weights, right.weights):
        message = "Started again, rank 0 begins with other weights than those of its newest checkpoint. Expected: the "
        return Finding(seen=f"{message}weights with which the last epoch ended.", line=line)
    # Several ranks may save, which one_writer() says; what is in the checkpoint is then of the last of them.
    ends = [fit.end for fit in first if fit.end and (fit is first[0] or fit.wrote or fit.renamed)]
    if right.statistics and not any(close(own.statistics, begin.statistics, right.statistics) for own in ends):
        message = "Started again, rank 0 has the trained weights of its newest checkpoint, but not the moving means "
        return Finding(
            seen=f"{message}and variances of its batch normalisations. Expected: the whole model.", line=line
        )
    lost = _lost(end, begin, right)
    message = f"Started again, rank 0 has the weights of its newest checkpoint, but {lost}. Expected: the optimizer as "
    return Finding(seen=f"{message}it was.", line=line) if lost else None


@part.check(
    10,
    points=1,
    asks=("send its bytes to all ranks, and every rank load the model from them",),
    hint="broadcast_object sends the bytes of rank 0's file. Every rank writes them to a temporary file and gives its "
    "name to hvd.load_model.",
)
def loaded_everywhere(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again, every rank loads rank 0's checkpoint, and the ranks train on alike to the end."""
    after = _again(runs)
    if isinstance(after, Finding):
        return after
    right = expected.clusters[FIRST["resumed"]][0].facts.fits[0]
    line = source.line_of(*SETTERS)
    return _ended(after, source) or _alike(after, right, line)


def _written(paths: list[str]) -> set[str]:
    """Return the paths that were written to: files, and checkpoints that are folders of such files."""
    folders = {folder for path in paths for folder in Path(path).parents}
    return {*paths, *(str(folder) for folder in folders if re.match(rf"{CHECKPOINT}\d", folder.name))}


def _cut_short(ranks: list[HorovodRank]) -> Finding:
    return Untold(seen=f"training does not get to the end of its epochs ({ranks[0].cluster}).")


def _again(runs: HorovodRuns) -> list[HorovodRank] | Finding:
    """Return the ranks of the second run, or a Finding where there was nothing to resume from."""
    before, after = runs.clusters.get(FIRST["resumed"], []), runs.reserved.get("resumed", [])
    fits = [rank.facts.fits[0] if rank.facts.fits else None for rank in before]
    if not all(fit and len(fit.epochs) >= EPOCHS and fit.epochs[-1].saved is not None for fit in fits):
        return Untold(seen="the first training does not get to its end (3 ranks).")
    if len(after) != len(before) or not after:
        return Unclear(seen="the program was not started a second time.")
    return after


def _newest(runs: HorovodRuns) -> tuple[int, int, int]:
    """Return how many epochs are behind the newest checkpoint, for a restart and at first, and its name's number then.

    A name with another number than that of the epochs is the program's own way to count: a restart has to know of it.
    """
    rank = runs.clusters[FIRST["resumed"]][0]
    saved = {Path(name).name: 0 for name in rank.left.below(LOGS)}
    saved |= {name: number for number, epoch in enumerate(rank.facts.fits[0].epochs, 1) for name in epoch.saved or []}
    for named in range(EPOCHS, -1, -1):
        name = next((name for name in saved if re.fullmatch(rf"{CHECKPOINT}{named}(\.\w+)?", name)), None)
        if name:
            epochs = saved[name] or named
            return NEWEST - EPOCHS + epochs, epochs, named
    return EPOCHS, EPOCHS, EPOCHS


def _line_of_epoch(after: list[HorovodRank], source: Source) -> int | None:
    """Return the line where model.fit is given its first epoch, or where that comes from; that of model.fit if none."""
    fit = next((rank.facts.lines["fit"] for rank in after if "fit" in rank.facts.lines), None)
    given = source.keyword("initial_epoch", fit)
    if given is None:
        return fit
    return (source.line_of(given.id) if isinstance(given, ast.Name) else None) or given.lineno


def _lost(end: State, begin: State, right: State) -> str | None:
    """Say what of the optimizer is not as it was."""
    lost = []
    if end.iterations != begin.iterations:
        lost.append(f"its optimizer counts {begin.iterations} iterations in place of {end.iterations}")
    if not close(end.slots, begin.slots, right.slots):
        lost.append("the optimizer's momentum is " + ("another one" if any(begin.slots) else "0"))
    return ", and ".join(lost)


def _ended(after: list[HorovodRank], source: Source) -> Finding | None:
    """Return why the second run does not run to its end, if it does not: the first error that no other rank caused."""
    line = source.line_of(*SETTERS)
    for rank in sorted(after, key=lambda rank: bool(rank.causes & {"shut down", "connection"})):
        if rank.error:
            has = ""
            if rank.host and "no file" in rank.causes:
                has = " Its host has no such file."
            elif rank.host and rank.error_kind in ("OSError", "PermissionError"):
                has = f" Its host has files of another run, up to {CHECKPOINT}{NEWEST + 1}.h5, and no checkpoint."
            error = rank.error.rstrip(".")
            if "shut down" in rank.causes:
                error = "it waits in a collective for a rank that has ended already"
            message = f"Started again, rank {rank.number} fails: {error}.{has}"
            return Finding(
                seen=f"{message} Expected: every rank resumes from rank 0's checkpoint.", line=rank.error_line or line
            )
    if any(rank.ended_for for rank in after):
        places = ", ".join(f"rank {rank.number} {_place(rank)}" for rank in after)
        message = f"Started again, the ranks never end: {places}. Expected: all of them load rank 0's checkpoint."
        return Finding(seen=message, line=line)
    for rank in after:
        if rank.exit or not rank.facts.fits:
            when = ("after" if rank.facts.fits[0].end else "in") if rank.facts.fits else "before"
            message = f"Started again, rank {rank.number} ends with exit status {rank.exit}, {when} training."
            return Finding(seen=f"{message} Expected: all ranks train on to the end.", line=line)
    return None


def _place(rank: HorovodRank) -> str:
    waits = f"waits in {rank.collective}" if rank.collective else "is in no collective"
    return waits if rank.ended_for else "has ended"


def _alike(after: list[HorovodRank], right: Fit, line: int | None) -> Finding | None:
    """Whether all ranks begin alike, and stay so."""
    fits = [rank.facts.fits[0] for rank in after]
    for rank, fit in zip(after[1:], fits[1:], strict=True):
        if fit.begin.variables != fits[0].begin.variables:
            return Finding(
                seen=f"Started again, the variables of rank {rank.number}'s optimizer have other names than those of rank "
                "0's. Horovod matches them by name, so where training runs as a graph, the ranks deadlock. Expected: "
                "the checkpoint loaded on every rank.",
                line=line,
            )
    scales = _states(right, right)[-1]
    for number, (zero, *others) in enumerate(zip(*(_states(fit, fits[0]) for fit in fits), strict=False)):
        for rank, other in zip(after[1:], others, strict=True):
            for name, one, two, scale in zip(("weights", "momentum"), zero, other, scales, strict=True):
                if one is not None and two is not None and not close(one, two, scale):
                    when = f"after batch {number}" if number else "at the start"
                    return Finding(
                        seen=f"Started again, rank {rank.number}'s {name} {when} differ from rank 0's. Expected: the "
                        "checkpoint on every rank, and gradients that are averaged as before.",
                        line=line,
                    )
    return None


def _states(fit: Fit, zero: Fit) -> list[tuple[Projection | None, Projection | None]]:
    """Return weights and optimizer's variables: at the start, and after each batch while the rate is rank 0's."""
    batches = takewhile(lambda pair: pair[0].rate == pair[1].rate, zip(fit.batches, zero.batches, strict=False))
    return [(fit.begin.weights, fit.begin.slots), *((batch.after, batch.slots) for batch, _ in batches)]
