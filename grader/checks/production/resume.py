"""The check of step 10: checkpoints, and training that resumes from the last one."""

from pathlib import Path

from grader.checks.part import Finding
from grader.checks.production.program import EPOCHS, RESUMED, part
from grader.checks.training import close, trained
from grader.facts import HorovodRank, HorovodRuns, State
from grader.runner.reading import Source

CHECKPOINT = "checkpoint-"  # what the names of checkpoints begin with


@part.check(
    10,
    needs={8},
    clusters=RESUMED,
    hint="Let rank 0 look for the checkpoint, tell its epoch by broadcast_object, and load the file on every rank. "
    "Rank 0 alone saves: under another name first, which it then renames.",
)
def resumed(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again, all ranks go on from rank 0's last whole checkpoint, weights and optimizer alike.

    Looks at how checkpoints were written, and compares where the second run began with where the first one ended.
    """
    for ranks in runs.topologies.values():
        stop = trained(ranks)
        if stop:
            return stop
        finding = _writing(ranks, source)
        if finding:
            return finding
    again = runs.reserved.get("resumed")
    if not again:
        return Finding("Cannot be told: the program was not started a second time.", unclear=True)
    return _restart(runs.topologies["two-hosts"], again, source)


def _writing(ranks: list[HorovodRank], source: Source) -> Finding | None:
    """How checkpoints were written, and by which ranks."""
    line = source.line_of("save", "ModelCheckpoint", "save_weights", "SaveCheckpoint")
    cut_short = Finding(f"The program does not get to its end ({ranks[0].topology}).", untold=True)
    files = ranks[0].facts.files
    if not files:
        return cut_short
    names = {name for name in files.left if Path(name).name.startswith(CHECKPOINT)}
    if not names:
        return Finding(f"{ranks[0].where} leaves no checkpoint. Expected: one after every epoch.", line)
    for rank in ranks[1:]:
        if not rank.facts.files:
            return cut_short
        if rank.facts.files.wrote_checkpoints:
            return Finding(f"{rank.where} writes checkpoints too. Expected: rank 0 alone.", line)
    direct = sorted(names & set(files.overwritten))
    if direct:
        return Finding(
            f"{direct[0]} has its name while it is being written: whoever is killed then leaves half a file that is "
            "taken for a checkpoint. Expected: another name, until it is whole.",
            line,
        )
    return None


def _restart(before: list[HorovodRank], after: list[HorovodRank], source: Source) -> Finding | None:
    """Where the second run began, compared with where the first one ended."""
    finding = _first_epoch(after, source.line_of("initial_epoch", "load_model", "broadcast_object"))
    if finding:
        return finding
    line = source.line_of("load_model", "load_weights", "set_weights", "initial_epoch")
    return _restored(before[0].facts.fits[0].end, after[0].facts.fits[0].begin, line) or _alike(after, line)


def _first_epoch(after: list[HorovodRank], line: int | None) -> Finding | None:
    """Whether all ranks begin with the epoch after the last one of the first run, and get to their end."""
    if any(rank.ended_for for rank in after):
        places = ", ".join(f"rank {rank.number} is in {rank.collective or 'no collective'}" for rank in after)
        return Finding(
            f"Started again, the ranks wait for each other for good: {places}. Expected: all of them load rank 0's "
            "checkpoint and go on from its epoch.",
            line,
        )
    for rank in after:
        where = f"Started again after {EPOCHS} epochs, rank {rank.number}"
        if not rank.facts.fits:
            why = f": {rank.error}" if rank.error else "."
            return Finding(f"{where} does not get as far as training{why}", rank.error_line or line)
        fit = rank.facts.fits[0]
        if fit.initial_epoch != EPOCHS:
            began = fit.initial_epoch + 1
            return Finding(f"{where} begins with epoch {began}. Expected: epoch {EPOCHS + 1}, on every rank.", line)
        if rank.error or rank.exit:
            return Finding(f"{where} fails: {rank.error or rank.exit}", rank.error_line)
    return None


def _restored(end: State | None, begin: State, line: int | None) -> Finding | None:
    """Whether rank 0 begins with what it ended with."""
    if end is None:
        return Finding("The first training does not get to its end.", untold=True)
    if not close(end.weights, begin.weights):
        return Finding("Started again, rank 0 does not have the weights of its last checkpoint.", line)
    if end.iterations != begin.iterations or not close(end.slots, begin.slots):
        return Finding(
            "Started again, rank 0 has the weights of its last checkpoint but a new optimizer: "
            f"{begin.iterations} iterations, and no momentum. Expected: {end.iterations}, and the momentum.",
            line,
        )
    return None


def _alike(after: list[HorovodRank], line: int | None) -> Finding | None:
    """Whether all ranks begin alike, and stay so."""
    for rank in after[1:]:
        if rank.facts.fits[0].begin.variables != after[0].facts.fits[0].begin.variables:
            return Finding(
                f"Started again, rank {rank.number} has an optimizer with other variables than rank 0's, and Horovod "
                "would match them by their names: where training runs as a graph, both wait for good. Expected: the "
                "checkpoint loaded on every rank.",
                line,
            )
    for number, batches in enumerate(zip(*(rank.facts.fits[0].batches for rank in after), strict=False), 1):
        if any(batch.after is None for batch in batches):
            continue  # an exception of the script's ended it
        for rank, batch in zip(after, batches, strict=True):
            same = close(batches[0].after, batch.after), close(batches[0].slots, batch.slots)
            for alike, name in zip(same, ("weights", "optimizer"), strict=True):
                if not alike:
                    return Finding(
                        f"Started again, rank {rank.number} has {name} after batch {number} that are not those of "
                        "rank 0. Expected: the checkpoint's on every rank, and gradients that are averaged as before.",
                        line,
                    )
    return None
