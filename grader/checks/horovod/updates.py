"""Checks of steps 3 and 4: each update of the weights, and what it starts from."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from course.internal import stalls
from grader.checks import ending
from grader.checks.horovod.fashion_mnist import part
from grader.checks.horovod.ranks import initialised
from grader.checks.training import close, hardly_communicated, trained
from grader.reading.parsing import Source
from grader.terms.facts import Batch, Fit
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import HorovodRank, HorovodRuns

BROADCAST = "BroadcastGlobalVariablesCallback"
WRAPPER = "DistributedOptimizer", "opt", "compile"  # where scripts say which optimizer averages

# --- Step 3 -----------------------------------------------------------------------------------------------------------


@part.check(
    3,
    asks=("wrap the optimizer, so that it averages gradients over all ranks before it applies them",),
    look_at=WRAPPER,
    needs=(initialised,),
    figure="gradients_applied",
    hint="Which optimizer does model.compile get? It has to be one that averages, and all ranks have to have it.",
)
def mean_gradient(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every rank applies the mean of all ranks' gradients.

    Compares what each rank adds to its weights with the gradients that the ranks computed by themselves.
    """
    return averaged(runs, expected, source)


def averaged(runs: HorovodRuns, expected: HorovodRuns, source: Source, any_rate: bool = False) -> Finding | None:
    """Whether every rank applies the mean of all ranks' gradients, as the ranks and their host report.

    Args:
        runs: the script's.
        expected: the solution's.
        source: the script.
        any_rate: whether the script may choose its learning rate.
    """
    for name, ranks in runs.clusters.items():
        if stop := trained(ranks):
            return stop
        right, fits = expected.clusters[name][0].facts.fits[0], [rank.facts.fits[0] for rank in ranks]
        for fit in fits:
            if finding := _optimizer(fit, right, any_rate, source):
                return finding
        momentum, before = right.optimizer.get("momentum", 0.0), np.zeros(1)  # the updates of the batch before
        rates = {epoch: batch.rate for epoch, batch in zip(_epochs(right), right.batches, strict=False)}
        steps = zip(right.batches, _epochs(fits[0]), *(fit.batches for fit in fits), strict=False)
        for should, epoch, *batch in itertools.islice(steps, _together(fits)):
            if any(entry.local is None or entry.before is None for entry in batch):
                return Unclear(seen="the judge sees no gradient in a training step")
            updates = np.array([np.subtract(entry.updated, entry.before or 0) for entry in batch], float)
            rate = batch[0].rate if any_rate else rates.get(epoch, should.rate)
            if finding := _batch(ranks[0].cluster, batch, updates - momentum * before, should, rate):
                return finding
            before = updates
    return hardly_communicated(runs, expected)


def _epochs(fit: Fit) -> Iterator[int]:
    """Return the epoch of each batch of a training, counted from 0: epochs of two scripts differ in length."""
    yield from (number for number, epoch in enumerate(fit.epochs) for _ in range(epoch.steps))
    yield from itertools.repeat(max(len(fit.epochs) - 1, 0))  # of an epoch that did not end


def _together(fits: Sequence[Fit]) -> int:
    """Return how many batches come before ranks are in different epochs, and so train at different rates."""
    most = min(len(fit.batches) for fit in fits)
    epochs = zip(*(itertools.islice(_epochs(fit), most) for fit in fits), strict=True)
    return next((number for number, each in enumerate(epochs) if len(set(each)) > 1), most)


def _optimizer(fit: Fit, right: Fit, any_rate: bool, source: Source) -> Finding | None:
    """Compare optimizer and loss weights with the solution's, ignoring wrappers and, if it is free, the rate."""
    for key, should in right.optimizer.items():
        own = fit.optimizer.get(key, should)
        if own != should and not (any_rate and key == "learning_rate"):
            seen, line = f"The optimizer's {key} is {own}", source.line_of("opt")
            return Finding(seen=seen, expected=f"{should}, as before", line=line)
    if fit.loss_weights not in ([], [1.0], right.loss_weights):
        return Finding(
            seen=f"The loss is weighted with {fit.loss_weights[0]:g}",
            expected="as before",
            hint="The mean of the gradients is divided by the number of ranks already.",
            line=source.line_of("loss_weights"),
        )
    return None


def _batch(where: str, batch: list[Batch], update: NDArray[np.float64], right: Batch, rate: float) -> Finding | None:
    """Whether the ranks' updates are the mean of their gradients, but for what rounding does to the solution's.

    Args:
        where: the cluster.
        batch: what each rank did.
        update: what each rank added to its weights, less the momentum of the batch before, of shape (ranks, weights).
        right: what a rank of the solution did.
        rate: the learning rate.
    """
    local = np.array([entry.local for entry in batch], float)
    # Weights are float32, and updates small compared with them.
    noise = 2e-6 * np.abs(right.before or [0.0]).max()
    scale = np.abs(right.local or [0.0]).max() * rate + 1e-9

    def applied(steps: NDArray[np.float64]) -> bool:
        return bool(np.abs(update - steps).max() <= 0.02 * scale + noise)

    mean = -rate * local.mean(axis=0)
    if applied(mean):
        return None
    for number, entry in enumerate(batch):
        if abs(entry.rate - rate) > 1e-6 * rate:
            seen = f"The learning rate of rank {number} is {entry.rate:g} ({where})"
            return Finding(seen=seen, expected=f"{rate:g}, as before")
    should = "the mean of all ranks' gradients"
    if applied(-rate * local):
        return Finding(seen=f"Each rank applies its own gradient alone ({where})", expected=should)
    if applied(len(batch) * mean):
        return Finding(seen=f"The ranks apply the sum of their gradients ({where})", expected="their mean")
    if applied(update[0]):
        times = float(update[0] @ mean / (mean @ mean or 1))
        if times > 0.01 and applied(times * mean):
            seen = f"In one step, all ranks apply {times:.2g} times the mean gradient at the rate of {rate:g} ({where})"
            return Finding(
                seen=seen,
                expected="1 time",
                hint="Look for another schedule of the learning rate, and for factors on the gradients or the loss.",
            )
        if applied(0 * mean):
            seen = f"The ranks leave their weights as they are in a step of the training ({where})"
            return Finding(seen=seen, expected=f"{should}, in every step", hint="Look for backward_passes_per_step.")
        seen = f"The ranks apply the same update, but not the mean of their gradients ({where})"
        return Finding(seen=seen, expected="the mean, times the learning rate")
    return Finding(seen=f"The ranks apply different updates ({where})", expected=f"{should}, on each")


# --- Step 4 -----------------------------------------------------------------------------------------------------------


@part.check(
    4,
    asks=("add the callback that broadcasts from rank 0",),
    look_at=(BROADCAST, "broadcast_variables", "callbacks"),
    needs=(initialised, mean_gradient),
    figure="weight_distance",
    hint="A callback works only if it is in the list that model.fit gets. All ranks need it, with the same root.",
)
def same_weights(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """From the end of the first batch on, all ranks hold the weights of rank 0.

    Compares weights and the optimizer's variables after each batch with rank 0's.
    """
    for name, ranks in runs.clusters.items():
        rights = expected.clusters[name][0].facts.fits[0].batches
        if stop := trained(ranks) or _first_batch(ranks):
            return stop
        zero = ranks[0].facts.fits[0]
        for rank in ranks[1:]:
            fits = rank.facts.fits[0], zero
            batches = zip(*(fit.batches for fit in fits), rights, strict=False)
            for number, (own, first, right) in enumerate(itertools.islice(batches, _together(fits))):
                if own.after is None or first.after is None:
                    break
                if not close(own.after, first.after, right.after):
                    return _why_apart(runs, rank.where, number, source)
                if not close(own.slots, first.slots, right.slots):
                    seen = f"{rank.where} has the weights of rank 0, but not its optimizer's variables"
                    return Finding(seen=seen, expected="both, by the broadcast")
        if not _root_is_zero(zero, rights[0]):
            seen = f"All ranks hold the same weights, but not those of rank 0 ({ranks[0].cluster})"
            return Finding(seen=seen, expected="rank 0's")
    return None


def _first_batch(ranks: list[HorovodRank]) -> Finding | None:
    """Why a rank does not get from its first update to its second batch: that is where weights are broadcast."""
    stopped = [rank for rank in ranks if rank.facts.fits[0].batches[0].after is None]
    if not stopped:
        return None
    if apart := ending.apart(ranks):
        return replace(apart, line=None, explains=True)
    first = min(stopped, key=lambda rank: not rank.collective)
    if not first.collective:
        return Untold(seen=f"{first.where} does not get past the first batch", line=first.error_line)
    error = (first.error or "it ends").partition(" [Op:")[0]  # without TensorFlow's name of the operation
    return Finding(
        seen=f"{first.where} fails in {stalls.in_words(first.collective)} after the first batch: {error}",
        expected="every rank takes part in one broadcast, of rank 0's weights",
        explains=True,
    )


def _why_apart(runs: HorovodRuns, where: str, batch: int, source: Source) -> Finding:
    """Say since when a rank's weights are others than rank 0's, and why."""
    if batch:
        seen = f"{where} holds rank 0's weights at first, and others after batch {batch + 1}"
        return Finding(seen=seen, expected="rank 0's after every batch")
    trainings = {rank.where: rank.facts.fits[0].callbacks for rank in runs.ranks() if rank.facts.fits}
    given = {rank for rank, callbacks in trainings.items() if any("Broadcast" in each for each in callbacks)}
    if given and where not in given:
        why = ": the list that model.fit gets there lacks the callback"
    elif source.calls(BROADCAST) and not given:
        why = ": the callback is made but never reaches model.fit"
    else:
        why = ""
    seen = f"{where} still starts from its own weights{why}"
    return Finding(seen=seen, expected="those of rank 0, after the first batch")


def _root_is_zero(fit: Fit, right: Batch) -> bool:
    """Whether rank 0 kept its own weights when the others took weights over."""
    first = fit.batches[0]
    kept = close(first.after, first.updated, right.updated)
    # A model that is built in its first step has no weights before.
    return kept and (fit.weights_built is None or close(first.before, fit.weights_built, right.before))
