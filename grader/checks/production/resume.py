"""The checks of step 10: checkpoints, and training that resumes from the newest one.

A program is run on two hosts, and then started again in the same folders. In between the judge copies epoch 1's
checkpoint to `checkpoint-9` and the last one to `checkpoint-10`. On the other host it puts an empty `checkpoint-10`
and `checkpoint-11`.
"""

import re
from itertools import takewhile
from pathlib import Path

from msgspec.structs import replace

from grader.checks.ending import is_aftermath, unfinished
from grader.checks.production.imagenet_resnet50 import DEFAULT_FORMAT, EPOCHS, FIRST, FORMATS, NEWEST, RESUMED, part
from grader.checks.training import close, cut_short, not_run
from grader.reading.parsing import Source
from grader.terms.clusters import CHECKPOINT, LOGS
from grader.terms.facts import Fit, Projection, State
from grader.terms.findings import Finding, Untold, listed
from grader.terms.runs import HorovodRank, HorovodRuns

SAVERS = "save", "ModelCheckpoint", "save_weights", "SaveCheckpoint"  # where scripts save
SETTERS = "load_model", "load_weights", "set_weights", "initial_epoch"  # and where they load


# --- How checkpoints are written --------------------------------------------------------------------------------------


@part.check(
    10,
    points=2,
    asks=("at the end of each epoch",),
    look_at=SAVERS,
    clusters=RESUMED,
    hint="Save in the callback's on_epoch_end, in each epoch, whatever its metrics are.",
)
def saved_each_epoch(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Rank 0 saves a checkpoint at the end of every epoch.

    Looks at which files of --log-dir are new when all callbacks have ended an epoch.
    """
    for cluster, ranks in runs.clusters.items():
        if finding := _saves(ranks[0]) or _misnamed(cluster, ranks[0], expected):
            return finding
        fits = ranks[0].facts.fits
        if not fits or not fits[0].epochs or fits[0].epochs[-1].saved is None:
            return cut_short(ranks[0])
    again = runs.reserved.get("resumed")
    return _saves(again[0]) if again and not again[0].error else None


def _saves(rank: HorovodRank) -> Finding | None:
    """Return a Finding where an epoch leaves no checkpoint."""
    for fit in rank.facts.fits[:1]:
        for number, epoch in enumerate(fit.epochs, fit.initial_epoch + 1):
            if epoch.saved == []:
                name = f"a new file in --log-dir whose name begins with {CHECKPOINT}"
                seen = f"{rank.where} ends epoch {number} without {name}"
                return Finding(seen=seen, expected="a checkpoint after every epoch")
    return None


def _misnamed(cluster: str, rank: HorovodRank, expected: HorovodRuns) -> Finding | None:
    """Return a Finding where a checkpoint has its default name, and --checkpoint-format asks for another one.

    A capstone's program has no such argument, and its solution saves under the default name.
    """
    asked = DEFAULT_FORMAT.format(epoch=1) not in _saved(expected.clusters[cluster][0])
    for fit in rank.facts.fits[:1] if cluster in FORMATS and asked else ():
        for number, epoch in enumerate(fit.epochs, 1):
            default = DEFAULT_FORMAT.format(epoch=number)
            if default in (epoch.saved or []):
                return Finding(
                    seen=f"{rank.where} saves {default}, and --checkpoint-format is {FORMATS[cluster]}",
                    expected=f"a file called {FORMATS[cluster].format(epoch=number)}",
                )
    return None


@part.check(
    10,
    points=2,
    asks=("Save it under another name first, and rename the file to the checkpoint's name",),
    look_at=SAVERS,
    hint="Save under a name that no checkpoint has, in the same folder. Path.replace then changes it.",
)
def renamed(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """A file has a checkpoint's name only once it is whole.

    Looks at which files rank 0 opened for writing, by whatever library.
    """
    any_saved = False
    for name, ranks in runs.clusters.items():
        known, saved = (_saved(rank) for rank in (expected.clusters[name][0], ranks[0]))
        if not saved:
            continue
        any_saved = True
        if direct := sorted((saved & known or saved) & _written(ranks[0].facts.fits[0].wrote)):
            return Finding(
                seen=f"{ranks[0].where} writes {direct[0]} under this name: a kill in mid-write leaves a truncated "
                "file that looks like a checkpoint",
                expected="another name until the file is whole, then a rename",
            )
    return None if any_saved else Untold(seen="the program leaves no checkpoint")


def _saved(rank: HorovodRank) -> set[str]:
    """Return the checkpoints that a rank's epochs leave."""
    return {name for fit in rank.facts.fits[:1] for epoch in fit.epochs for name in epoch.saved or []}


def _written(paths: list[str]) -> set[str]:
    """Return the paths that were written to: files, and checkpoints that are folders of such files."""
    folders = {folder for path in paths for folder in Path(path).parents}
    return {*paths, *(str(folder) for folder in folders if re.match(rf"{CHECKPOINT}\d", folder.name))}


@part.check(
    10,
    points=1,
    asks=("Let rank 0, and no other rank, save by your callback.",),
    look_at=(*reversed(SAVERS),),
    hint="Append the callback to the list only where hvd.rank() is 0.",
)
def one_writer(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """No rank but rank 0 writes checkpoints."""
    for rank in (rank for ranks in runs.clusters.values() for rank in ranks[1:]):
        written = [name for fit in rank.facts.fits[:1] for name in (*fit.wrote, *fit.renamed)]
        if written:
            return Finding(seen=f"{rank.where} writes {written[0]}", expected="rank 0 alone saves", explains=True)
    for ranks in runs.clusters.values():
        for rank in ranks:
            if not rank.facts.fits or not rank.facts.fits[0].epochs:
                return cut_short(rank)
        if not _saved(ranks[0]):
            return Untold(seen=f"{ranks[0].where} saves no checkpoint")
    return None


# --- Where a restart resumes ------------------------------------------------------------------------------------------


def _not_resumed(runs: HorovodRuns) -> Finding | None:
    """Return why there is no second run to look at."""
    for rank in runs.clusters.get(FIRST["resumed"], []):
        epochs = rank.facts.fits[0].epochs if rank.facts.fits else []
        if len(epochs) < EPOCHS or epochs[-1].saved is None:
            return cut_short(rank)
    return None if runs.reserved.get("resumed") else not_run(RESUMED[-1].description)


def _idle(ranks: list[HorovodRank]) -> Finding | None:
    """Return which of these ranks does not reach training."""
    idle = next((rank for rank in ranks if not rank.facts.fits), None)
    return Untold(seen=f"{idle.where} does not reach training", line=idle.error_line) if idle else None


@part.check(
    10,
    points=2,
    asks=("Let rank 0 alone look for the newest checkpoint",),
    look_at=("initial_epoch", "fit"),
    figure="epochs_trained",
    hint="Rank 0 compares the numbers in the names and sends the highest by broadcast_object. All ranks give it to "
    "model.fit as initial_epoch.",
)
def goes_on(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again, all ranks resume after the epoch of rank 0's newest checkpoint."""
    if stop := _not_resumed(runs):
        return stop
    after = runs.reserved["resumed"]
    # The end of a rank that fails by itself stops the others at any time.
    if stop := _idle([rank for rank in after if rank.error and not is_aftermath(rank)]):
        return stop
    # A program that counts its checkpoints, or keeps the number elsewhere, does not see copies.
    newest, original, named = _newest(runs)
    began = {rank.number: rank.facts.fits[0].initial_epoch for rank in after if rank.facts.fits}
    wrong = [epoch for epoch in began.values() if epoch not in (newest, original)]
    if not wrong and len({*began.values()}) < 2:
        done = next((rank for rank in after if rank.facts.fits and not (rank.facts.fits[0].epochs or rank.error)), None)
        if done and not done.exit:
            return Finding(
                seen=f"Started again, training ends without an epoch ({done.where})",
                expected=f"epoch {newest + 1} and those after it",
                hint="The argument epochs of fit() is the number of the last epoch, not how many are left.",
            )
        return _idle(after)
    fit = next((rank.facts.lines["fit"] for rank in after if "fit" in rank.facts.lines), None)
    begins = listed([f"epoch {epoch + 1} on rank {number}" for number, epoch in began.items()])
    hint = ""
    if named != original:
        hint = f"At first, the checkpoint after epoch {original} is called {CHECKPOINT}{named}. "
    elif newest == NEWEST and {*began.values()} == {NEWEST - 1}:
        hint = f"As text, {NEWEST - 1} sorts after {NEWEST}; and the file written last need not be the newest. "
    if NEWEST + 1 in wrong:
        hint += f"Rank 1's host has a file of that name, {CHECKPOINT}{NEWEST + 1}.h5, of another run."
    return Finding(
        seen=f"Started again, training begins with {begins}. Rank 0's newest checkpoint is that after epoch {newest}",
        expected=f"epoch {newest + 1} on every rank",
        hint=hint.strip(),
        line=None if source.keyword("initial_epoch", fit) else fit,
    )


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


@part.check(
    10,
    points=2,
    asks=("the weights and the optimizer of the checkpoint",),
    look_at=SETTERS,
    needs=(goes_on,),
    hint="model.save keeps weights and optimizer; hvd.load_model restores both. Use the model that it returns.",
)
def state_restored(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again, rank 0 has the weights and the optimizer that it ended with."""
    if stop := _not_resumed(runs) or _idle(runs.reserved["resumed"][:1]):
        return stop
    before, after = runs.clusters[FIRST["resumed"]][0], runs.reserved["resumed"][0]
    end, begin = before.facts.fits[0].end, after.facts.fits[0].begin
    right = expected.clusters[FIRST["resumed"]][0].facts.fits[0].end
    if end is None or right is None:
        return cut_short(before)
    if not close(end.weights, begin.weights, right.weights):
        return Finding(
            seen=f"{after.where} begins with other weights than those of its newest checkpoint",
            expected="the weights with which the last epoch ended",
        )
    if right.statistics and not close(end.statistics, begin.statistics, right.statistics):
        return Finding(
            seen=f"{after.where} has the trained weights of its newest checkpoint, but not the moving means and "
            "variances of its batch normalisations",
            expected="the whole model",
        )
    if lost := _lost(end, begin, right):
        seen = f"{after.where} has the weights of its newest checkpoint, but {lost}"
        return Finding(seen=seen, expected="the optimizer as it was")
    return None


def _lost(end: State, begin: State, right: State) -> str:
    """Say what of the optimizer is not as it was."""
    lost = []
    if end.iterations != begin.iterations:
        lost.append(f"its optimizer counts {begin.iterations} iterations in place of {end.iterations}")
    if not close(end.slots, begin.slots, right.slots):
        lost.append("the optimizer's momentum is " + ("another one" if any(begin.slots) else "0"))
    return ", and ".join(lost)


@part.check(
    10,
    points=1,
    asks=("send its bytes to all ranks by `broadcast_object`, and every rank load the model from them",),
    look_at=SETTERS,
    hint="broadcast_object sends the bytes of rank 0's file. Every rank writes them to a temporary file and gives its "
    "name to hvd.load_model.",
)
def loaded_everywhere(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again, every rank loads rank 0's checkpoint, and the ranks train on alike to the end."""
    if stop := _not_resumed(runs):
        return stop
    after, right = runs.reserved["resumed"], expected.clusters[FIRST["resumed"]][0].facts.fits[0]
    if found := unfinished(after):
        return replace(found, expected="every rank resumes from rank 0's checkpoint", hint=_on_its_host(after))
    return _unlike(after, right)


def _on_its_host(after: list[HorovodRank]) -> str:
    """Say what the first rank that fails finds on its host, if that is not rank 0's."""
    failed = next((rank for rank in sorted(after, key=is_aftermath) if rank.error), after[0])
    if failed.host and "no file" in failed.causes:
        return "Its host has no such file."
    if failed.host and failed.error_kind in ("OSError", "PermissionError"):
        return f"Its host has files of another run, up to {CHECKPOINT}{NEWEST + 1}.h5, and no checkpoint."
    return ""


def _unlike(after: list[HorovodRank], right: Fit) -> Finding | None:
    """Whether a rank begins unlike rank 0, or becomes so."""
    zero = after[0].facts.fits[0]
    scales = _states(right, right)[-1]
    for rank in after[1:]:
        fit = rank.facts.fits[0]
        if fit.begin.variables != zero.begin.variables:
            return Finding(
                seen=f"The variables of the optimizer have other names on {rank.where} than on rank 0. Horovod matches "
                "them by name, so where training runs as a graph, the ranks deadlock",
                expected="the checkpoint loaded on every rank",
            )
        for number, states in enumerate(zip(_states(zero, zero), _states(fit, zero), strict=False)):
            for name, one, two, scale in zip(("weights", "momentum"), *states, scales, strict=True):
                if one is not None and two is not None and not close(one, two, scale):
                    when = f"after batch {number}" if number else "at the start"
                    return Finding(
                        seen=f"The {name} of {rank.where} differ from rank 0's {when}",
                        expected="the checkpoint on every rank, and gradients that are averaged as before",
                    )
    return None


def _states(fit: Fit, zero: Fit) -> list[tuple[Projection | None, Projection | None]]:
    """Return weights and optimizer's variables: at the start, and after each batch while the rate is rank 0's."""
    batches = takewhile(lambda pair: pair[0].rate == pair[1].rate, zip(fit.batches, zero.batches, strict=False))
    return [(fit.begin.weights, fit.begin.slots), *((batch.after, batch.slots) for batch, _ in batches)]
