"""Checks of steps 3 and 4: each update of the weights, and what it starts from."""

import numpy as np
from numpy.typing import NDArray

from course.internal import stalls
from grader.checks import ending
from grader.checks.horovod.fashion_mnist import part
from grader.checks.horovod.ranks import initialised
from grader.checks.training import close, hardly_communicated, same_loss, trained
from grader.reading.parsing import Source
from grader.terms.facts import Batch, Fit
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import HorovodRank, HorovodRuns

BROADCAST = "BroadcastGlobalVariablesCallback"
SPREAD = 0.1  # of the solution's gradients: ranks with images of their own are further apart in some batch

# --- Step 3 -----------------------------------------------------------------------------------------------------------


@part.check(
    3,
    asks=("wrap the optimizer, so that it averages gradients over all ranks before it applies them",),
    needs=(initialised,),
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
    line = source.line_of("DistributedOptimizer", "opt", "compile")
    for name, ranks in runs.clusters.items():
        stop = trained(ranks)
        if stop:
            return stop
        right = expected.clusters[name][0].facts.fits[0]
        for rank in ranks:
            finding = _optimizer(rank.facts.fits[0], right, source, any_rate)
            if finding:
                return finding
        batches = min(len(rank.facts.fits[0].batches) for rank in ranks)
        for number in range(min(batches, len(right.batches))):
            batch = [rank.facts.fits[0].batches[number] for rank in ranks]
            if any(entry.local is None or entry.before is None for entry in batch):
                return Unclear(seen="No gradient was computed in a training step, as far as can be seen.", line=line)
            rate = batch[0].rate if any_rate else right.batches[number].rate
            finding = _batch(ranks[0].cluster, batch, right.batches[number], rate, line)
            if finding:
                return finding
        if not any(map(_differ, zip(*(rank.facts.fits[0].batches for rank in ranks), strict=False), right.batches)):
            message = f"All ranks compute the same gradients ({ranks[0].cluster}), so nothing shows that they average."
            return Unclear(seen=f"{message}", line=line)
    return hardly_communicated(runs, expected, line)


def _optimizer(fit: Fit, right: Fit, source: Source, any_rate: bool) -> Finding | None:
    """Whether the optimizer, but for a rate that is free, and the loss are the solution's, whatever wraps them."""
    own, should = fit.optimizer, right.optimizer
    if fit.values < right.values:
        return Finding(
            seen=f"The model trains {fit.values} values. Expected: {right.values}, all of it, as before.",
            line=source.line_of("trainable", "model"),
        )
    free = {"learning_rate"} if any_rate else set()
    different = [key for key in should if key in own and own[key] != should[key] and key not in free]
    if different:
        return Finding(
            seen=f"The optimizer's {different[0]} is {own[different[0]]}. Expected: {should[different[0]]}, as before.",
            line=source.line_of("opt"),
        )
    if fit.loss_weights not in ([], [1.0], right.loss_weights):
        return Finding(
            seen=f"The loss is weighted with {fit.loss_weights[0]:g}. Expected: as before. The mean of the gradients is "
            "divided by the number of ranks already.",
            line=source.line_of("loss_weights"),
        )
    return same_loss(fit, right, source)


def _batch(where: str, batch: list[Batch], right: Batch, rate: float, line: int | None) -> Finding | None:
    """Whether the ranks' updates are the mean of their gradients, but for what rounding does to the solution's."""
    local = [np.asarray(entry.local, float) for entry in batch]
    update = [np.asarray(entry.updated, float) - np.asarray(entry.before, float) for entry in batch]
    mean, total = -rate * np.mean(local, axis=0), -rate * np.sum(local, axis=0)
    scale = np.abs(right.local or [0.0]).max() * rate + 1e-9
    # Weights are float32, and updates small compared with them.
    noise = 2e-6 * np.abs(right.before or [0.0]).max()

    def same(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
        return bool(np.abs(one - other).max() <= 0.02 * scale + noise)

    if all(same(own, mean) for own in update):
        return None
    for number, entry in enumerate(batch):
        if abs(entry.rate - rate) > 1e-6 * rate:
            message = f"The learning rate of rank {number} is {entry.rate:g} ({where})."
            return Finding(seen=f"{message} Expected: {rate:g}, as before.", line=line)
    if all(same(own, -rate * gradient) for own, gradient in zip(update, local, strict=True)):
        return Finding(
            seen=f"Each rank applies its own gradient alone ({where}). Expected: the mean of all ranks' gradients.",
            line=line,
        )
    if all(same(own, total) for own in update):
        return Finding(seen=f"The ranks apply the sum of their gradients ({where}). Expected: their mean.", line=line)
    if all(same(own, update[0]) for own in update):
        message = f"The ranks apply the same update, but not the mean of their gradients ({where})."
        return Finding(seen=f"{message} Expected: the mean, times the learning rate.", line=line)
    return Finding(
        seen=f"The ranks apply different updates ({where}). Expected: the mean of all gradients on each.", line=line
    )


def _differ(batch: tuple[Batch, ...], right: Batch) -> bool:
    """Whether the ranks' own gradients differ by more than what counts as the same update."""
    local = np.asarray([entry.local for entry in batch], float)
    return bool(np.ptp(local, axis=0).max() > SPREAD * np.abs(right.local or [0.0]).max())


# --- Step 4 -----------------------------------------------------------------------------------------------------------


@part.check(
    4,
    asks=("add the callback that broadcasts from rank 0", "It belongs in the list that `fit` gets, on every rank"),
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
        stop = trained(ranks) or _first_batch(ranks, source)
        if stop:
            return stop
        zero = ranks[0].facts.fits[0]
        for rank in ranks[1:]:
            fit = rank.facts.fits[0]
            for number, (own, first, right) in enumerate(zip(fit.batches, zero.batches, rights, strict=False)):
                if own.after is None or first.after is None:
                    break
                if not close(own.after, first.after, right.after):
                    return Finding(seen=_why_apart(runs, rank.where, number, source), line=_broadcast_line(source))
                if not close(own.slots, first.slots, right.slots):
                    message = f"{rank.where} has the weights of rank 0, but not its optimizer's variables."
                    return Finding(seen=f"{message} Expected: both, by the broadcast.", line=_broadcast_line(source))
        if not _root_is_zero(ranks, rights[0]):
            return Finding(
                seen=f"All ranks hold the same weights, but not those of rank 0 ({ranks[0].cluster}). Expected: rank 0's.",
                line=_broadcast_line(source),
            )
    return None


def _first_batch(ranks: list[HorovodRank], source: Source) -> Finding | None:
    """Why a rank does not get from its first update to its second batch: that is where weights are broadcast."""
    stopped = [rank for rank in ranks if rank.facts.fits[0].batches[0].after is None]
    if not stopped:
        return None
    apart = ending.deadlock(ranks) or ending.torn(ranks)
    if apart:
        return Finding(seen=apart, line=_broadcast_line(source), explains=True)
    first = sorted(stopped, key=lambda rank: not rank.collective)[0]
    if first.collective:
        error = (
            (first.error or "it ends").partition(" [Op:")[0].rstrip(".")
        )  # without TensorFlow's name of the operation
        message = f"{first.where} fails in {stalls.in_words(first.collective)} after the first batch: {error}."
        message += " Expected: every rank takes part in one broadcast, of rank 0's weights."
        return Finding(seen=message, line=_broadcast_line(source), explains=True)
    message = f"{first.where} does not get past the first batch."
    return Untold(seen=message, line=first.error_line)


def _broadcast_line(source: Source) -> int | None:
    return source.line_of(BROADCAST, "broadcast_variables", "callbacks")


def _why_apart(runs: HorovodRuns, where: str, batch: int, source: Source) -> str:
    if batch:
        message = f"{where} holds rank 0's weights at first, and others after batch {batch + 1}."
        return f"{message} Expected: rank 0's after every batch."
    given = {
        rank.where
        for rank in runs.ranks()
        if rank.facts.fits and any("Broadcast" in c for c in rank.facts.fits[0].callbacks)
    }
    if given and where not in given:
        why = ": the list that model.fit gets there lacks the callback"
    elif source.calls(BROADCAST) and not given:
        why = ": the callback is made but never reaches model.fit"
    else:
        why = ""
    return f"{where} still starts from its own weights{why}. Expected: those of rank 0, after the first batch."


def _root_is_zero(ranks: list[HorovodRank], right: Batch) -> bool:
    """Whether rank 0 kept its own weights when the others took weights over."""
    fit = ranks[0].facts.fits[0]
    first = fit.batches[0]
    kept = close(first.after, first.updated, right.updated)
    return kept and close(first.before, fit.weights_built, right.before)
