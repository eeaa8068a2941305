"""Checks of steps 5 and 6: what an epoch is on each rank."""

import numpy as np

from grader.checks.horovod.program import COUNTED, part
from grader.checks.part import Finding
from grader.checks.training import trained
from grader.facts import Epoch, HorovodRank, HorovodRuns
from grader.job import BATCH
from grader.runner.reading import Source

BLURRED = 0.015  # of the range of all images' greys: what augmentation may do to one

# --- Step 5 -----------------------------------------------------------------------------------------------------------


@part.check(
    5,
    needs={1},
    clusters=COUNTED.clusters(),
    hint="Divide the number of batches by hvd.size(), in whole numbers: len(train_iter) // hvd.size(), and "
    "3 * len(test_iter) // hvd.size().",
)
def shared_epoch(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The ranks together make one pass over the training set in an epoch, and three over the test set.

    Counts batches and images of each epoch on each rank; to round up is as good as to round down.
    """
    for ranks in runs.topologies.values():
        stop = trained(ranks) or _equal_steps(ranks, source)
        if stop:
            return stop
        for rank in ranks:
            for number, epoch in enumerate(rank.facts.fits[0].epochs):
                finding = _epoch(rank, number, epoch, len(ranks), source)
                if finding:
                    return finding
    return _images(runs, source)


def _steps_line(ranks: list[HorovodRank], source: Source) -> int | None:
    return source.line_of("steps_per_epoch") or ranks[0].facts.lines.get("fit")


def _equal_steps(ranks: list[HorovodRank], source: Source) -> Finding | None:
    """Whether all ranks are to take the same number of steps."""
    taken = {rank.facts.fits[0].steps_per_epoch or rank.facts.fits[0].epochs[0].steps for rank in ranks}
    if len(taken) == 1:
        return None
    return Finding(
        f"The ranks take different numbers of steps: {sorted(taken)} ({ranks[0].topology}). Expected: the same on "
        "all, or they wait for each other.",
        _steps_line(ranks, source),
        explains=True,
    )


def _epoch(rank: HorovodRank, number: int, epoch: Epoch, size: int, source: Source) -> Finding | None:
    """Whether an epoch was as long as a share of one pass over the training set, and three over the test set."""
    cut_short = bool(rank.error or rank.ended_for) and number == len(rank.facts.fits[0].epochs) - 1
    where = rank.where if not number else f"{rank.where}, in epoch {number + 1},"
    breaks = bool(rank.error)  # where data run out, a metric may be missing that the script relies on
    least, most = COUNTED.train_batches // size, -(-COUNTED.train_batches // size)
    line = _steps_line([rank], source)
    if epoch.steps > most or (epoch.steps < least and not cut_short):
        return Finding(
            f"{where} takes {epoch.steps} steps in an epoch. Expected: {least}, its share of one pass over the "
            "training set.",
            line,
            explains=breaks,
        )
    if len(epoch.images) > most * BATCH:
        return Finding(
            f"{where} trains on {len(epoch.images)} images, in {epoch.steps} steps. Expected: "
            f"{least * BATCH}, its share of one pass over the training set.",
            line,
        )
    least, most = 3 * (COUNTED.test_batches // size), 3 * -(-COUNTED.test_batches // size)
    if epoch.validation_steps > most or (epoch.validation_steps < least and not cut_short):
        return Finding(
            f"{where} takes {epoch.validation_steps} validation steps. Expected: "
            f"{3 * COUNTED.test_batches // size}, its share of three passes over the test set.",
            source.line_of("validation_steps") or line,
            explains=breaks,
        )
    return None


def _images(runs: HorovodRuns, source: Source) -> Finding | None:
    """Whether the ranks of each topology train on no more than one share together: on one alone that may be chance."""
    same = {}
    for ranks in runs.topologies.values():
        shares = [rank.facts.fits[0].epochs[0].images for rank in ranks]
        if all(shares):
            images = [image for share in shares for image in share]
            same[ranks[0].topology] = _different(images)
            if same[ranks[0].topology] > _share(len(ranks)):
                return None
    for topology, number in same.items():
        return Finding(
            f"All ranks train on the same {number} images ({topology}). Expected: together they see about the whole "
            "training set, each in an order of its own.",
            source.line_of("flow", "steps_per_epoch"),
        )
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
    needs={1},
    hint="hvd.callbacks.MetricAverageCallback() comes before every callback that reads a metric, on every rank.",
)
def mean_metrics(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Callbacks read the mean of all ranks' metrics, and all ranks stop alike.

    Compares the metrics that callbacks read at the end of an epoch with the mean of what the ranks measured.
    """
    line = source.line_of("MetricAverageCallback", "callbacks")
    # Where a part of the ranks averages, its collectives meet others' of another kind.
    torn = any(rank.ended_for or (rank.error and "mismatch" in rank.causes) for rank in runs.ranks())
    for name, ranks in runs.topologies.items():
        stop = trained(ranks)
        if stop:
            return stop
        rights = expected.topologies[name]
        needed = set.intersection(*(_metrics_read(right) for right in rights))
        readers = {callback for right in rights for _, callback, _, _ in right.facts.fits[0].reads}
        for rank in ranks:
            missing = needed - _metrics_read(rank)
            if missing and not rank.error:
                return Finding(
                    f"{rank.where}: no callback reads {min(missing)} any more. Expected: one that can stop training.",
                    source.line_of("StopAtAccuracy", "callbacks"),
                )
            found = _reads(rank, ranks, readers, needed)
            if found:
                return Finding(f"{rank.where}: {found}. Expected: the mean of all ranks'.", line, explains=torn)
        epochs = [len(rank.facts.fits[0].epochs) for rank in ranks]
        if len(set(epochs)) > 1:
            return Finding(f"The ranks stop after different epochs: {epochs}. Expected: all alike.", line)
    return None


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
