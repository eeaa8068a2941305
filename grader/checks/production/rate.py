"""The check of step 11: the learning rate of many ranks."""

import itertools

import numpy as np

from grader.checks.part import Finding
from grader.checks.production.program import part
from grader.checks.training import trained
from grader.facts import Fit, HorovodRuns
from grader.job import BASE_LR
from grader.runner.reading import Source


@part.check(
    11,
    needs={8},
    figure="learning_rates",
    hint="Multiply args.base_lr by hvd.size() wherever it is used, and give "
    "hvd.callbacks.LearningRateWarmupCallback that rate and args.warmup_epochs.",
)
def rate(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The learning rate grows from that of one process to hvd.size() times as much, then follows the schedule.

    What is expected of the first epochs is counted out from the judge's own arguments; of later ones, from what the
    solution's schedule would set.
    """
    line = source.line_of("LearningRateWarmupCallback", "lr_schedule", "full_lr", "learning_rate")
    for name, ranks in runs.topologies.items():
        stop = trained(ranks)
        if stop:
            return stop
        for rank, right in zip(ranks, expected.topologies[name], strict=True):
            own, should = rank.facts.fits[0], right.facts.fits[0]
            finding = _warm_up(rank.where, own, len(ranks), line) or _schedule(rank.where, own, should, source)
            if finding:
                return finding
    return None


def _warm_up(where: str, fit: Fit, size: int, line: int | None) -> Finding | None:
    """The rate of each batch: rising in the first epoch, and then the full one."""
    full = BASE_LR * size
    steps = fit.epochs[0].steps
    rates = [batch.rate for batch in fit.batches]
    rising, later = rates[:steps], rates[steps:]
    if rising[0] > BASE_LR + 0.7 * (full - BASE_LR):
        return Finding(
            f"{where} begins with a learning rate of {rising[0]:g}. Expected: little more than "
            f"{BASE_LR:g}, that of one process, while it warms up.",
            line,
        )
    if any(after < 0.999 * before for before, after in itertools.pairwise(rising)):
        return Finding(f"{where}: the learning rate falls while it should warm up.", line)
    if rising[0] < 0.99 * BASE_LR and rising[-1] < 0.9 * full:
        return Finding(
            f"{where} warms up from {rising[0]:g} to {rising[-1]:g}, and then jumps. Expected: from "
            f"{BASE_LR:g} to {full:g}.",
            line,
        )
    if later and not np.allclose(later, full, rtol=0.01):
        shown = later[int(np.argmax(np.abs(np.asarray(later) - full)))]
        return Finding(
            f"{where}: after the warm-up the learning rate is {shown:g}. Expected: {full:g}, "
            f"{size} times that of one process.",
            line,
        )
    return None


def _schedule(where: str, fit: Fit, right: Fit, source: Source) -> Finding | None:
    """The rates of later epochs, as the script's schedulers would set them."""
    known = {*right.callbacks} - {"LearningRateScheduler"}
    if right.schedule and not set(fit.callbacks) - known:
        message = f"{where}: nothing lowers the learning rate in later epochs any more. Expected: lr_schedule."
        return Finding(message, source.line_of("lr_schedule", "callbacks"))
    for epoch, rate in right.schedule.items():
        own = fit.schedule.get(epoch)
        if own is not None and not np.isclose(own, rate, rtol=0.01):
            return Finding(
                f"{where}: in epoch {int(epoch) + 1} the rate would be {own:g}. Expected: {rate:g}.",
                source.line_of("lr_schedule"),
            )
    return None
