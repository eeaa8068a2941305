"""Checks of steps 5 and 6: what an epoch is on each rank."""

import numpy as np
from msgspec.structs import replace

from course.internal import stalls
from grader.checks import ending
from grader.checks.horovod.fashion_mnist import COUNTED, QUICK, VAL_BATCH, WHOLE, part
from grader.checks.horovod.ranks import initialised
from grader.checks.training import trained
from grader.reading.parsing import Source
from grader.terms.clusters import BATCH
from grader.terms.facts import Epoch
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import HorovodRank, HorovodRuns

FULL = 3 / 4  # of an epoch's batches, in images: the last batch of a share may be smaller
PASSES = {1: "one pass", 3: "three passes"}
BLURRED = 0.015  # of the range of all images' greys: what augmentation may do to one

# --- Step 5 -----------------------------------------------------------------------------------------------------------


@part.check(
    5,
    points=5,
    asks=("Divide `steps_per_epoch` by the number of ranks",),
    needs=(initialised,),
    clusters=COUNTED.clusters(WHOLE, QUICK),
    hint="How many batches does one pass take? Each rank takes its part of them: of all ranks, not those of one host.",
)
def training_steps(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The ranks together make one pass over the training set in an epoch.

    Counts batches and images of each epoch on each rank; to round up is as good as to round down.
    """
    no_steps = any("no steps" in rank.causes for rank in runs.ranks())
    for ranks in runs.clusters.values():
        stop = trained(ranks) or _equal_steps(ranks, source)
        if stop:
            return stop
        for rank in ranks:
            for number, epoch in enumerate(rank.facts.fits[0].epochs):
                finding = _training(rank, number, epoch, len(ranks), source)
                if finding:
                    return replace(finding, explains=finding.explains or no_steps)
    return _images(runs, source) or _unseen(runs, source)


@part.check(
    5,
    points=5,
    asks=("Set `validation_steps` so that all ranks together make **three** passes over the test set",),
    needs=(initialised,),
    hint="How many batches do three passes over the test set take, and which part of them does each rank take? "
    "Multiply before you divide.",
)
def validation_steps(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The ranks together make three passes over the test set in an epoch.

    Counts the validation steps of each epoch on each rank; to round up is as good as to round down.
    """
    return shared_validation(runs, source, passes=3)


def shared_validation(runs: HorovodRuns, source: Source, passes: int) -> Finding | None:
    """Whether the ranks together make so many passes over the test set in an epoch."""
    for ranks in runs.clusters.values():
        stop = trained(ranks)
        if stop:
            return stop
        for rank in ranks:
            epochs = rank.facts.fits[0].epochs
            for number, epoch in enumerate(epochs):
                finding = _validation(rank, number, epoch, len(ranks), source, passes)
                if finding:
                    return finding
            if _cut_short(rank, 0) and epochs[0].validation_steps < passes * (COUNTED.test_batches // len(ranks)):
                return _no_epoch(rank)
        repeated = _validation_images(ranks, source)
        if repeated:
            return repeated
    return None


def _steps_line(ranks: list[HorovodRank], source: Source) -> int | None:
    return source.line_of("steps_per_epoch", "take", "shard") or ranks[0].facts.lines.get("fit")


def _equal_steps(ranks: list[HorovodRank], source: Source) -> Finding | None:
    """Whether all ranks are to take the same number of steps."""
    taken = {rank.number: rank.facts.fits[0].steps_per_epoch or rank.facts.fits[0].epochs[0].steps for rank in ranks}
    for rank in ranks:  # one that was ended in its first training may have been about to take as many as the others
        fit = rank.facts.fits[0]
        if fit.steps_per_epoch is None and _cut_short(rank, 0) and not fit.epochs[0].validation_steps:
            if stalls.in_words(rank.collective) == stalls.GRADIENTS:  # of a step that others did not begin
                taken[rank.number] += 1
            if taken[rank.number] < max(taken.values()):
                del taken[rank.number]
    if len(set(taken.values())) == 1:
        return None
    each = ", ".join(f"rank {number} takes {steps}" for number, steps in taken.items())
    return Finding(
        seen=f"The ranks take different numbers of steps per epoch ({ranks[0].cluster}): {each}. Expected: the same number "
        "on all ranks, or they deadlock.",
        line=_steps_line(ranks, source),
        explains=True,
    )


def _cut_short(rank: HorovodRank, number: int) -> bool:
    """Whether an epoch is the one in which a rank was ended."""
    return bool(rank.error or rank.ended_for) and number == len(rank.facts.fits[0].epochs) - 1


def _steps(batches: int, size: int) -> tuple[int, int]:
    """Return how many of the batches are a rank's share, rounded down and rounded up."""
    return batches // size, -(-batches // size)


def _no_epoch(rank: HorovodRank) -> Finding:
    """Say that a rank gets through no epoch, so that nothing can be seen of what comes at its end."""
    return Untold(seen=f"{rank.where} does not get to the end of an epoch.", line=rank.error_line)


def _training(rank: HorovodRank, number: int, epoch: Epoch, size: int, source: Source) -> Finding | None:
    """Whether an epoch was as long as a share of one pass over the training set."""
    where = rank.where if not number else f"{rank.where}, in epoch {number + 1},"
    least, most = _steps(COUNTED.train_batches, size)
    line = _steps_line([rank], source)
    planned = rank.facts.fits[0].steps_per_epoch
    cut_short = _cut_short(rank, number)
    if cut_short and epoch.steps < least and planned is None:
        return _no_epoch(rank)
    steps = max(epoch.steps, planned or 0) if cut_short else epoch.steps
    if not least <= steps <= most:
        return Finding(
            seen=f"{where} takes {_count(steps, 'step')} per epoch. Expected: {_from_to(least, most)}, its share of the "
            f"{COUNTED.train_batches} batches of one pass over the training set.",
            line=line,
            explains=bool(rank.error),  # where data run out, a metric may be missing that the script relies on
        )
    few = bool(epoch.images) and not cut_short and len(epoch.images) < FULL * least * BATCH
    if few or len(epoch.images) > most * BATCH:
        return Finding(
            seen=f"{where} trains on {_count(len(epoch.images), 'image')}, in {_count(epoch.steps, 'step')}. Expected: "
            f"{_from_to(least * BATCH, most * BATCH)}, its share of one pass over the training set.",
            line=line,
        )
    return None


def _validation(rank: HorovodRank, number: int, epoch: Epoch, size: int, source: Source, passes: int) -> Finding | None:
    """Whether the validation after an epoch was as long as a share of so many passes over the test set."""
    where = rank.where if not number else f"{rank.where}, in epoch {number + 1},"
    least, most = (passes * steps for steps in _steps(COUNTED.test_batches, size))
    steps = epoch.validation_steps
    if steps > most or (steps < least and not _cut_short(rank, number)):
        return Finding(
            seen=f"{where} takes {_count(steps, 'validation step')}. Expected: {_from_to(least, most)}, its share of the "
            f"{passes * COUNTED.test_batches} batches of {PASSES[passes]} over the test set.",
            line=source.line_of("validation_steps") or _steps_line([rank], source),
            explains=bool(rank.error),
        )
    return None


def _validation_images(ranks: list[HorovodRank], source: Source) -> Finding | None:
    """Whether the ranks together validate on about the whole test set, and not on a part of it again and again."""
    images = [image for rank in ranks for image in rank.facts.fits[0].epochs[0].validation_images]
    test_set = COUNTED.test_batches * VAL_BATCH
    for rank in ranks:
        epoch = rank.facts.fits[0].epochs[0]
        if epoch.validation_steps and not epoch.validation_images and not _cut_short(rank, 0):
            message = f"no images were seen to go into the validation of {rank.where}."
            return Unclear(seen=message, line=source.line_of("validation_data"))
    if not images or len(images) < test_set or _different(images) >= FULL * test_set:
        return None
    return Finding(
        seen=f"All ranks together validate on {_different(images)} images ({ranks[0].cluster}), again and again. Expected: "
        f"on all {test_set} of the test set.",
        line=source.line_of("validation_data"),
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _from_to(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def _images(runs: HorovodRuns, source: Source) -> Finding | None:
    """Whether the ranks of each cluster train on no more than one share together: on one alone that may be chance."""
    same = {}
    for ranks in runs.clusters.values():
        shares = [rank.facts.fits[0].epochs[0].images for rank in ranks]
        if all(shares):
            images = [image for share in shares for image in share]
            same[ranks[0].cluster] = _different(images)
            if same[ranks[0].cluster] > _share(len(ranks)):
                return None
    for cluster, number in same.items():
        return Finding(
            seen=f"All ranks train on the same {number} images ({cluster}). Expected: together they see about the whole "
            "training set, each in an order of its own.",
            line=source.line_of("flow", "steps_per_epoch"),
        )
    return None


def _unseen(runs: HorovodRuns, source: Source) -> Finding | None:
    """Whether a rank took steps that no images were seen to go into."""
    for rank in runs.ranks():
        for number, epoch in enumerate(rank.facts.fits[0].epochs):
            if epoch.steps and not epoch.images and not _cut_short(rank, number):
                taken = _count(epoch.steps, "step")
                message = f"{rank.where} takes {taken}, and no images were seen to go into them."
                return Unclear(seen=message, line=_steps_line([rank], source))
    return None


def _share(size: int) -> int:
    """Return how many images are a rank's share, rounded up."""
    return -(-COUNTED.train_batches * BATCH // size)


def _different(images: list[str]) -> int:
    """Return how many different images these are, by their mean greys, which augmentation blurs a little."""
    greys = np.sort([float(image.split("/")[0]) for image in images])
    return 1 + int(np.sum(np.diff(greys) > BLURRED * np.ptp(greys)))


# --- Step 6 -----------------------------------------------------------------------------------------------------------


@part.check(
    6,
    asks=(
        "add the callback that averages metrics",
        "the averaging must come before every callback that reads a metric",
    ),
    needs=(initialised,),
    hint="Keras calls callbacks in the order of the list. Which of them read a metric? All ranks have to average.",
)
def mean_metrics(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Callbacks read the mean of all ranks' metrics, and all ranks stop alike.

    Compares the metrics that callbacks read at the end of an epoch with the mean of what the ranks measured.
    """
    line = source.line_of("MetricAverageCallback", "callbacks")
    # Where a part of the ranks averages, its collectives meet others' of another kind.
    torn = any(rank.ended_for or (rank.error and "mismatch" in rank.causes) for rank in runs.ranks())
    unseen = None
    for name, ranks in runs.clusters.items():
        stop = trained(ranks)
        if stop:
            return stop
        rights = expected.clusters[name]
        needed = set.intersection(*(_metrics_read(right) for right in rights))
        readers = {callback for right in rights for _, callback, _, _ in right.facts.fits[0].reads}
        for rank in ranks:
            missing = needed - _metrics_read(rank)
            if missing and (rank.error or rank.ended_for):
                unseen = unseen or _no_epoch(rank)
            elif missing:
                return Finding(
                    seen=f"{rank.where}: no callback reads {min(missing)} any more. Expected: one that can stop training.",
                    line=source.line_of("StopAtAccuracy", "callbacks"),
                )
            found = _reads(rank, ranks, readers, needed)
            if found:
                return Finding(
                    seen=f"{rank.where}: {found}. Expected: the mean of all ranks'.", line=line, explains=torn
                )
        epochs = [len(rank.facts.fits[0].epochs) for rank in ranks]
        if len(set(epochs)) > 1:
            return Finding(seen=_stops(ranks, epochs), line=line)
        ended = any(rank.error or rank.ended_for for rank in ranks)
        right = len(rights[0].facts.fits[0].epochs)
        if epochs[0] != right and not ended:
            return Finding(
                seen=f"The ranks stop after {epochs[0]} epochs ({ranks[0].cluster}). Expected: {right}.", line=line
            )
        apart = ending.deadlock(ranks) or ending.torn(ranks) or ""
        if stalls.METRICS in apart:
            return Finding(seen=apart, line=line, explains=True)
    return unseen


def _stops(ranks: list[HorovodRank], epochs: list[int]) -> str:
    """Say after how many epochs each rank stops."""
    each = ", ".join(f"rank {rank.number} after {number}" for rank, number in zip(ranks, epochs, strict=True))
    return f"The ranks stop after different numbers of epochs ({ranks[0].cluster}): {each}. Expected: the same number."


def _reads(rank: HorovodRank, ranks: list[HorovodRank], readers: set[str], needed: set[str]) -> str | None:
    """Say which metric that a callback reads is not the mean of all ranks', those of the solution's callbacks first."""
    reads = sorted(rank.facts.fits[0].reads, key=lambda read: (read[1] not in readers, read[2] not in needed))
    for epoch, callback, metric, value in reads:
        epochs = [other.facts.fits[0].epochs for other in ranks]
        own = [
            of_rank[epoch].own[metric] for of_rank in epochs if len(of_rank) > epoch and metric in of_rank[epoch].own
        ]
        if len(own) == len(ranks) and abs(value - np.mean(own)) > 1e-3:
            # No values: the validation images of a rank differ a little from one run to the next.
            its = "its own" if abs(value - own[rank.number]) < 1e-6 else "neither its own nor the mean"
            return f"the {metric} that {callback} reads is {its}"
    return None


def _metrics_read(rank: HorovodRank) -> set[str]:
    """Return the metrics that a rank's callbacks read."""
    return {metric for _, _, metric, _ in rank.facts.fits[0].reads}
