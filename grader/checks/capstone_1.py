"""The capstone of the first part: fashion_mlp.py, which learners distribute without guidance.

It has the checks of steps 1 to 6, but that the learning rate is free and that one pass over the test set is asked for,
and two of its own: on 2 and on 4 hosts, training has to reach the accuracy of one process with no more images.
"""

import numpy as np
from msgspec.structs import replace

from grader.checks import ending, horovod, witnessed
from grader.checks.horovod import epochs, updates
from grader.checks.horovod.program import COUNTED, EPOCHS, TARGET, WITNESSED, TrainingSize
from grader.checks.horovod.ranks import initialised
from grader.checks.part import Finding, Part
from grader.facts import HorovodFacts
from grader.job import BATCH, SHIPPED, Topology, flags
from grader.runner.reading import Source
from grader.runs import HorovodRank, HorovodRuns

part = Part("fashion_mlp.py", "fashion_mlp_solution.py", HorovodFacts)

# A training in which the number of updates, times their length, decides what is learned: with the rate of one process,
# 2 hosts reach 0.07 less than one process, and 4 hosts 0.2 less. Shuffled in other orders, the same training differs
# by 0.007 (one standard deviation), and with a warm-up of an epoch it reaches 0.01 less.
LEARNED_BATCH = 10
LEARNED = flags(
    data_dir=SHIPPED,
    hidden=64,
    batch_size=LEARNED_BATCH,
    val_batch_size=100,
    train_samples=1202,  # shares for 4 ranks do not come out even
    test_samples=1000,
    learning_rate=0.004,
    epochs=3,
    stop_at=2,
)
MARGIN = 0.04


def _learning(hosts: int, description: str) -> Topology:
    """Return a cluster of so many hosts with a rank each, on which the accuracy is looked at."""
    return Topology(description, description, hosts, 1, 1, LEARNED, reserved=True, learns=True)


ONE = replace(_learning(1, "one process"), reference=True)
HOSTS = _learning(2, "2 hosts with a rank each"), _learning(4, "4 hosts with a rank each")


def arguments(size: TrainingSize, number: int) -> tuple[str, ...]:
    """Return the program's arguments for a training of this size, with so many epochs."""
    return flags(
        hidden=4,
        batch_size=BATCH,
        val_batch_size=BATCH,
        train_samples=BATCH * size.train_batches,
        test_samples=BATCH * size.test_batches,
        epochs=number,
    )


def vary(cluster: Topology, draw: int) -> Topology:
    """Return the cluster with a witness as it is in the run of this number."""
    return replace(cluster, arguments=arguments(WITNESSED[draw], EPOCHS) + flags(stop_at=TARGET))


part.vary = vary


# --- What steps 1 to 6 ask for ----------------------------------------------------------------------------------------


def mean_gradient(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every rank applies the mean of all ranks' gradients, at the learning rate of its optimizer."""
    finding = updates.averaged(runs, expected, source, any_rate=True)
    if finding:
        return finding
    ranks = runs.reserved.get(witnessed.NAME, [])
    rates = {batch.rate for rank in ranks for fit in rank.facts.fits for batch in fit.batches}
    return witnessed.applies_means(runs, expected, rates)


def validation_steps(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The ranks together make one pass over the test set in an epoch."""
    return epochs.shared_validation(runs, source, passes=1)


part.adopt(
    horovod.part,
    instead={updates.mean_gradient: mean_gradient, epochs.validation_steps: validation_steps},
)
part.check(
    3,
    needs=(initialised,),
    hint="Which optimizer does model.compile get? It has to be one that averages, and all ranks have to have it.",
)(mean_gradient)
part.check(
    5,
    points=5,
    needs=(initialised,),
    clusters=COUNTED.clusters(arguments, arguments),
    hint="Each rank validates on its share of the test images.",
)(validation_steps)


# --- What the capstone asks for ---------------------------------------------------------------------------------------


@part.check(
    101,
    points=5,
    asks=("all ranks together see no more images than one process sees",),
    needs=(initialised, epochs.training_steps),
    clusters=(*COUNTED.clusters(arguments, arguments), ONE, *HOSTS),
    hint="All ranks together see each training image once per epoch, for as many epochs as --epochs says.",
)
def no_more_images(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """On 2 and on 4 hosts, all ranks together train on no more images than one process does.

    Steps may be rounded up.
    """
    one = expected.reserved[ONE.name]
    for cluster in HOSTS:
        ranks = runs.reserved.get(cluster.name, [])
        finding = _unfinished(cluster, ranks)
        if finding:
            return finding
        rounded = LEARNED_BATCH * len(ranks) * len(one[0].facts.fits[0].epochs)  # a step more of each rank per epoch
        if _images(ranks) > _images(one) + rounded:
            return Finding(
                f"All ranks together train on {_images(ranks)} images ({cluster.description}). Expected: no more than "
                f"the {_images(one)} of one process, but for what rounding adds.",
                source.line_of("steps_per_epoch", "take", "shard") or ranks[0].facts.lines.get("fit"),
            )
    return None


@part.check(
    101,
    points=5,
    asks=("the validation accuracy that one process reaches",),
    needs=(initialised, mean_gradient, epochs.training_steps, no_more_images),
    hint="An epoch has fewer updates than on one process, and each of them averages over more images. What makes up "
    "for the updates that are missing?",
)
def accuracy(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """On 2 and on 4 hosts, training reaches the accuracy that one process reaches.

    Compares the validation accuracy after the last epoch with that of the solution on one process.
    """
    one = _accuracy(expected.reserved[ONE.name])
    assert one
    for cluster in HOSTS:
        reached = _accuracy(runs.reserved[cluster.name])
        if reached is None:
            return Finding(f"No validation accuracy is measured ({cluster.description}).", untold=True)
        if not reached >= one - MARGIN:
            return Finding(
                f"After the last epoch, the validation accuracy is {reached:.2f} ({cluster.description}). Expected: "
                f"{one:.2f}, which one process reaches with as many images, less {MARGIN:g} for chance.",
                source.line_of("SGD", "learning_rate", "compile"),
            )
    return None


def _unfinished(cluster: Topology, ranks: list[HorovodRank]) -> Finding | None:
    """Say why a training cannot be looked at: it was not run, or did not run to its end on every rank."""
    if not ranks:
        message = f"Not run on {cluster.description}, since the program had to be ended before."
        return Finding(message, untold=True)
    apart = ending.deadlock(ranks) or ending.torn(ranks)
    if apart:
        return Finding(apart, ranks[0].error_line)
    for rank in sorted(ranks, key=lambda rank: bool(rank.causes & {"shut down", "connection"})):
        if rank.error:
            return Finding(f"{rank.where} fails: {rank.error}", rank.error_line)
        if rank.ended_for or rank.exit or not rank.facts.fits:
            return Finding(f"{rank.where} does not train to its end.", rank.facts.lines.get("waiting"))
    return None


def _images(ranks: list[HorovodRank]) -> int:
    """Return how many images ranks have trained on, each as often as it was; by steps, where they were not seen."""
    trained = (epoch for rank in ranks for fit in rank.facts.fits for epoch in fit.epochs)
    return sum(len(epoch.images) or LEARNED_BATCH * epoch.steps for epoch in trained)


def _accuracy(ranks: list[HorovodRank]) -> float | None:
    """Return the mean of the validation accuracies that ranks measured last; None where one measured none."""
    last = [
        [epoch.own["val_accuracy"] for fit in rank.facts.fits for epoch in fit.epochs if "val_accuracy" in epoch.own]
        for rank in ranks
    ]
    return float(np.mean([measured[-1] for measured in last])) if ranks and all(last) else None
