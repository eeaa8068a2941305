"""Checks of steps 5 and 6: what an epoch is on each rank."""

import numpy as np
from msgspec.structs import replace

from course.internal import stalls
from grader.checks import ending
from grader.checks.horovod.fashion_mnist import COUNTED, QUICK, WHOLE, part
from grader.checks.horovod.ranks import initialised
from grader.checks.training import cut_short, trained
from grader.reading.parsing import Source
from grader.terms.clusters import BATCH
from grader.terms.facts import Epoch
from grader.terms.findings import Finding, counted
from grader.terms.runs import HorovodRank, HorovodRuns

FULL = 3 / 4  # of an epoch's batches, in images: the last batch of a share may be smaller
PASSES = {1: "one pass", 3: "three passes"}
BLURRED = 0.015  # of the range of all images' greys: what augmentation may do to one
STEPS = "steps_per_epoch", "take", "shard"  # where scripts say how long an epoch is

# --- Step 5 -----------------------------------------------------------------------------------------------------------


@part.check(
    5,
    points=5,
    asks=("Divide `steps_per_epoch` by the number of ranks",),
    look_at=(*STEPS, "fit"),
    needs=(initialised,),
    clusters=COUNTED.clusters(WHOLE, QUICK),
    figure="steps_taken",
    hint="How many batches does one pass take? Each rank takes its part of them: of all ranks, not those of one host.",
)
def training_steps(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The ranks together make one pass over the training set in an epoch.

    Counts batches and images of each epoch on each rank; to round up is as good as to round down.
    """
    no_steps = any("no steps" in rank.causes for rank in runs.ranks())
    for ranks in runs.clusters.values():
        if stop := trained(ranks) or _unequal_steps(ranks):
            return stop
        for rank in ranks:
            for number, epoch in enumerate(rank.facts.fits[0].epochs):
                if finding := _training(rank, number, epoch, len(ranks)):
                    return replace(finding, explains=finding.explains or no_steps)
    return _same_images(runs, source)


def _unequal_steps(ranks: list[HorovodRank]) -> Finding | None:
    """Whether ranks are to take different numbers of steps."""
    taken = {rank.number: rank.facts.fits[0].steps_per_epoch or rank.facts.fits[0].epochs[0].steps for rank in ranks}
    for rank in ranks:  # one that was ended in its first training may have been about to take as many as the others
        fit = rank.facts.fits[0]
        if fit.steps_per_epoch is None and _ended_in(rank, 0) and not fit.epochs[0].validation_steps:
            if stalls.in_words(rank.collective) == stalls.GRADIENTS:  # of a step that others did not begin
                taken[rank.number] += 1
            if taken[rank.number] < max(taken.values()):
                del taken[rank.number]
    if len(set(taken.values())) == 1:
        return None
    each = ", ".join(f"rank {number} takes {steps}" for number, steps in taken.items())
    return Finding(
        seen=f"The ranks take different numbers of steps per epoch ({ranks[0].cluster}): {each}",
        expected="the same number on all ranks, or they deadlock",
        explains=True,
    )


def _training(rank: HorovodRank, number: int, epoch: Epoch, size: int) -> Finding | None:
    """Whether an epoch was as long as a share of one pass over the training set."""
    least, most = COUNTED.train_images // (BATCH * size), _share(COUNTED.train_batches, size)[1]
    planned, ended = rank.facts.fits[0].steps_per_epoch, _ended_in(rank, number)
    if ended and epoch.steps < least and planned is None:
        return cut_short(rank)
    steps = max(epoch.steps, planned or 0) if ended else epoch.steps
    if not least <= steps <= most:
        share = f"its share of the {COUNTED.train_batches} batches of one pass over the training set"
        return Finding(
            seen=f"{_where(rank, number)} takes {counted(steps, 'step')} per epoch",
            expected=f"{_from_to(least, most)}, {share}",
            explains=bool(rank.error),  # where data run out, a metric may be missing that the script relies on
        )
    images = len(epoch.images)
    if images > most * BATCH or (0 < images < FULL * least * BATCH and not ended):
        return Finding(
            seen=f"{_where(rank, number)} trains on {counted(images, 'image')}, in {counted(epoch.steps, 'step')}",
            expected=f"{_from_to(least * BATCH, most * BATCH)}, its share of one pass over the training set",
        )
    return None


def _same_images(runs: HorovodRuns, source: Source) -> Finding | None:
    """Whether the ranks of each cluster train on no more than one share together: on one alone that may be chance."""
    same = {}
    for ranks in runs.clusters.values():
        shares = [rank.facts.fits[0].epochs[0].images for rank in ranks]
        if all(shares):
            same[ranks[0].cluster] = _different([image for share in shares for image in share])
            if same[ranks[0].cluster] > _share(COUNTED.train_images, len(ranks))[1]:
                return None
    for cluster, number in same.items():
        return Finding(
            seen=f"All ranks train on the same {number} images ({cluster})",
            expected="together they see about the whole training set, each in an order of its own",
            line=source.line_of("flow", "steps_per_epoch"),
        )
    return None


@part.check(
    5,
    points=5,
    asks=("Set `validation_steps` so that all ranks together make **three** passes over the test set",),
    look_at=("validation_steps", *STEPS, "fit"),
    needs=(initialised,),
    figure="steps_taken",
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
        if stop := trained(ranks):
            return stop
        for rank in ranks:
            for number, epoch in enumerate(rank.facts.fits[0].epochs):
                if finding := _validation(rank, number, epoch, len(ranks), passes):
                    return finding
        if finding := _validation_images(ranks, source):
            return finding
    return None


def _validation(rank: HorovodRank, number: int, epoch: Epoch, size: int, passes: int) -> Finding | None:
    """Whether the validation after an epoch was as long as a share of so many passes over the test set."""
    least, most = (passes * steps for steps in _share(COUNTED.test_batches, size))
    steps = epoch.validation_steps
    if least <= steps <= most:
        return None
    if steps < least and _ended_in(rank, number):
        return None if number else cut_short(rank)
    batches = f"{passes * COUNTED.test_batches} batches of {PASSES[passes]} over the test set"
    return Finding(
        seen=f"{_where(rank, number)} takes {counted(steps, 'validation step')}",
        expected=f"{_from_to(least, most)}, its share of the {batches}",
        explains=bool(rank.error),
    )


def _validation_images(ranks: list[HorovodRank], source: Source) -> Finding | None:
    """Whether the ranks together validate on about the whole test set, and not on a part of it again and again."""
    images = [image for rank in ranks for image in rank.facts.fits[0].epochs[0].validation_images]
    test_set = COUNTED.test_images
    if len(images) < test_set or _different(images) >= FULL * test_set:
        return None
    return Finding(
        seen=f"All ranks together validate on {_different(images)} images ({ranks[0].cluster}), again and again",
        expected=f"on all {test_set} of the test set",
        line=source.line_of("validation_data"),
    )


def _ended_in(rank: HorovodRank, number: int) -> bool:
    """Whether an epoch is the one in which a rank was ended."""
    return bool(rank.error or rank.ended_for) and number == len(rank.facts.fits[0].epochs) - 1


def _where(rank: HorovodRank, number: int) -> str:
    """Return a rank and the epoch of this number, in words; the first one goes without saying."""
    return f"{rank.where}, in epoch {number + 1}," if number else rank.where


def _share(things: int, size: int) -> tuple[int, int]:
    """Return how many things are a rank's share, rounded down and rounded up."""
    return things // size, -(-things // size)


def _from_to(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def _different(images: list[str]) -> int:
    """Return how many different images these are, by their mean greys, which augmentation blurs a little."""
    greys = np.sort([float(image.split("/")[0]) for image in images])
    return 1 + int(np.sum(np.diff(greys) > BLURRED * np.ptp(greys)))


# --- Step 6 -----------------------------------------------------------------------------------------------------------


@part.check(
    6,
    asks=("add the callback that averages metrics",),
    look_at=("MetricAverageCallback", "callbacks"),
    needs=(initialised,),
    figure="metrics_read",
    hint="Keras calls callbacks in the order of the list. Which of them read a metric? All ranks have to average.",
)
def mean_metrics(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Callbacks read the mean of all ranks' metrics, and all ranks stop alike.

    Compares the metrics that callbacks read at the end of an epoch with the mean of what the ranks measured.
    """
    # Where a part of the ranks averages, its collectives meet others' of another kind.
    torn = any(rank.ended_for or (rank.error and "mismatch" in rank.causes) for rank in runs.ranks())
    unseen = None
    for name, ranks in runs.clusters.items():
        if stop := trained(ranks):
            return stop
        rights = expected.clusters[name]
        needed = set.intersection(*(_metrics_read(right) for right in rights))
        readers = {callback for right in rights for _, callback, _, _ in right.facts.fits[0].reads}
        for rank in ranks:
            missing = needed - _metrics_read(rank)
            if missing and (rank.error or rank.ended_for):
                unseen = unseen or cut_short(rank)
            elif missing:
                return Finding(
                    seen=f"{rank.where}: no callback reads {min(missing)} any more",
                    expected="one that can stop training",
                    line=source.line_of("StopAtAccuracy", "callbacks"),
                )
            if seen := _not_the_mean(rank, ranks, readers, needed):
                return Finding(seen=seen, expected="the mean of all ranks'", explains=torn)
        if finding := _stops(ranks, len(rights[0].facts.fits[0].epochs)):
            return finding
        apart = ending.apart(ranks)
        if apart and stalls.METRICS in apart.seen:
            return replace(apart, line=None, explains=True)
    return unseen


def _stops(ranks: list[HorovodRank], expected: int) -> Finding | None:
    """Whether ranks stop after different numbers of epochs, or all after another number than they should."""
    epochs = {rank.number: len(rank.facts.fits[0].epochs) for rank in ranks}
    if len({*epochs.values()}) > 1:
        each = ", ".join(f"rank {rank} after {number}" for rank, number in epochs.items())
        seen = f"The ranks stop after different numbers of epochs ({ranks[0].cluster}): {each}"
        return Finding(seen=seen, expected="the same number")
    if epochs[0] != expected and not any(rank.error or rank.ended_for for rank in ranks):
        return Finding(seen=f"The ranks stop after {epochs[0]} epochs ({ranks[0].cluster})", expected=f"{expected}")
    return None


def _not_the_mean(rank: HorovodRank, ranks: list[HorovodRank], readers: set[str], needed: set[str]) -> str | None:
    """Say which metric that a callback reads is not the mean of all ranks', those of the solution's callbacks first."""
    reads = sorted(rank.facts.fits[0].reads, key=lambda read: (read[1] not in readers, read[2] not in needed))
    for number, callback, metric, value in reads:
        epochs = [epoch for other in ranks for epoch in other.facts.fits[0].epochs[number : number + 1]]
        own = [epoch.own[metric] for epoch in epochs if metric in epoch.own]
        if len(own) == len(ranks) and abs(value - np.mean(own)) > 1e-3:
            # No values: the validation images of a rank differ a little from one run to the next.
            its = "its own" if abs(value - own[rank.number]) < 1e-6 else "neither its own nor the mean"
            return f"{rank.where}: the {metric} that {callback} reads is {its}"
    return None


def _metrics_read(rank: HorovodRank) -> set[str]:
    """Return the metrics that a rank's callbacks read."""
    return {metric for _, _, metric, _ in rank.facts.fits[0].reads}
