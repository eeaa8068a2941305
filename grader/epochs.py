"""The properties of steps 5 and 6: what an epoch is on each rank. Otherwise like grader.properties."""

import numpy as np

from grader.facts import RankFacts, Runs
from grader.plans import BATCH, TEST_BATCHES, TRAIN_BATCHES
from grader.properties import Finding, trained
from grader.source import Source

BLURRED = 0.015  # of the range of all images' greys: what augmentation may do to one

# --- Step 5 -----------------------------------------------------------------------------------------------------------


def judge_shared_epoch(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Batches and images of each epoch on each rank; to round up is as good as to round down."""
    for ranks in runs.topologies.values():
        stop = trained(ranks) or _judge_equal_steps(ranks, source)
        if stop:
            return stop
        for facts in ranks:
            for number, epoch in enumerate(facts.fits[0]["epochs"]):
                finding = _judge_epoch(facts, number, epoch, len(ranks), source)
                if finding:
                    return finding
    return _judge_images(runs, source)


def _steps_line(ranks: list[RankFacts], source: Source) -> int | None:
    return source.line_of("steps_per_epoch") or ranks[0].lines.get("fit")


def _judge_equal_steps(ranks: list[RankFacts], source: Source) -> Finding | None:
    """Whether all ranks are to take the same number of steps."""
    taken = {facts.fits[0]["steps_per_epoch"] or facts.fits[0]["epochs"][0]["steps"] for facts in ranks}
    if len(taken) == 1:
        return None
    return Finding(
        f"The ranks take different numbers of steps: {sorted(taken)} ({ranks[0].topology}). Expected: the same on "
        "all, or they wait for each other.",
        _steps_line(ranks, source),
        explains=True,
    )


def _judge_epoch(facts: RankFacts, number: int, epoch: dict, size: int, source: Source) -> Finding | None:
    """Whether an epoch was as long as a share of one pass over the training set, and three over the test set."""
    cut_short = bool(facts.error or facts.ended_for) and number == len(facts.fits[0]["epochs"]) - 1
    where = facts.where if not number else f"{facts.where}, in epoch {number + 1},"
    breaks = bool(facts.error)  # where data run out, a metric may be missing that the script counts on
    least, most = TRAIN_BATCHES // size, -(-TRAIN_BATCHES // size)
    line = _steps_line([facts], source)
    if epoch["steps"] > most or (epoch["steps"] < least and not cut_short):
        return Finding(
            f"{where} takes {epoch['steps']} steps in an epoch. Expected: {least}, its share of one pass over the "
            "training set.",
            line,
            explains=breaks,
        )
    if len(epoch["images"]) > most * BATCH:
        return Finding(
            f"{where} trains on {len(epoch['images'])} images, in {epoch['steps']} steps. Expected: "
            f"{least * BATCH}, its share of one pass over the training set.",
            line,
        )
    least, most = 3 * (TEST_BATCHES // size), 3 * -(-TEST_BATCHES // size)
    if epoch["validation_steps"] > most or (epoch["validation_steps"] < least and not cut_short):
        return Finding(
            f"{where} takes {epoch['validation_steps']} validation steps. Expected: {3 * TEST_BATCHES // size}, its "
            "share of three passes over the test set.",
            source.line_of("validation_steps") or line,
            explains=breaks,
        )
    return None


def _judge_images(runs: Runs, source: Source) -> Finding | None:
    """Whether the ranks of each topology train on no more than one share together: on one alone that may be chance."""
    same = {}
    for ranks in runs.topologies.values():
        shares = [facts.fits[0]["epochs"][0]["images"] for facts in ranks]
        if all(shares):
            images = [image for share in shares for image in share]
            same[ranks[0].topology] = _different(images)
            if same[ranks[0].topology] > _share(len(ranks)):
                return None
    for topology, images in same.items():
        return Finding(
            f"All ranks train on the same {images} images ({topology}). Expected: together they see about the whole "
            "training set, each in an order of its own.",
            source.line_of("flow", "steps_per_epoch"),
        )
    return None


def _share(size: int) -> int:
    """Return how many images are a rank's share, rounded up."""
    return -(-TRAIN_BATCHES * BATCH // size)


def _different(images: list[str]) -> int:
    """Return how many different images these are, by their mean greys, which augmentation blurs a little."""
    greys = np.sort([float(image.split("/")[0]) for image in images])
    return 1 + int(np.sum(np.diff(greys) > BLURRED * np.ptp(greys)))


# --- Step 6 -----------------------------------------------------------------------------------------------------------


def judge_mean_metrics(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """The metrics that callbacks read at the end of an epoch, beside the mean of what the ranks measured."""
    line = source.line_of("MetricAverageCallback", "callbacks")
    # Where a part of the ranks averages, its collectives meet others' of another kind.
    torn = any(facts.ended_for or "Mismatched" in (facts.error or "") for _, facts in runs.ranks())
    for name, ranks in runs.topologies.items():
        stop = trained(ranks)
        if stop:
            return stop
        rights = expected.topologies[name]
        needed = set.intersection(*(_metrics_read(right) for right in rights))
        readers = {callback for right in rights for _, callback, _, _ in right.fits[0]["reads"]}
        for facts in ranks:
            missing = needed - _metrics_read(facts)
            if missing and not facts.error:
                return Finding(
                    f"{facts.where}: no callback reads {min(missing)} any more. Expected: one that can stop training.",
                    source.line_of("StopAtAccuracy", "callbacks"),
                )
            for epoch, callback, metric, value in sorted(
                facts.fits[0]["reads"], key=lambda read: (read[1] not in readers, read[2] not in needed)
            ):
                own = [
                    other.fits[0]["epochs"][epoch]["own"].get(metric)
                    for other in ranks
                    if len(other.fits[0]["epochs"]) > epoch
                ]
                if None in own or len(own) < len(ranks):
                    continue
                if abs(value - np.mean(own)) > 1e-3:
                    # No values: which images a rank validates on differs a little from one run to the next.
                    its = "its own" if abs(value - own[facts.rank]) < 1e-6 else "neither its own nor the mean"
                    what = f"the {metric} that {callback} reads is {its}"
                    return Finding(f"{facts.where}: {what}. Expected: the mean of all ranks'.", line, explains=torn)
        epochs = [len(facts.fits[0]["epochs"]) for facts in ranks]
        if len(set(epochs)) > 1:
            return Finding(f"The ranks stop after different epochs: {epochs}. Expected: all alike.", line)
    return None


def _metrics_read(facts: RankFacts) -> set[str]:
    """Return the metrics that a rank's callbacks read."""
    return {metric for _, _, metric, _ in facts.fits[0]["reads"]}


JUDGES = {5: judge_shared_epoch, 6: judge_mean_metrics}

NEEDS = {5: {1}, 6: {1}}
