"""The checks of step 11: the learning rate of many ranks.

What is expected of the first epochs is counted out from the judge's own arguments; of later ones, from what the
solution's callbacks set.
"""

import itertools

from grader.checks.production.imagenet_resnet50 import WARMUP_EPOCHS, part
from grader.checks.training import cut_short
from grader.reading.parsing import Source
from grader.terms.clusters import BASE_LR
from grader.terms.facts import Fit
from grader.terms.findings import Finding, Unclear, Untold, counted
from grader.terms.runs import HorovodRank, HorovodRuns

NEAR = 0.01  # relative
SCHEDULE = "lr_schedule", "LearningRateScheduler", "LearningRateScheduleCallback", "callbacks"
STEEPEST = 2.4  # times the mean growth of a batch: curved warm-ups are right, jumps are not


@part.check(
    11,
    points=3,
    asks=("Let `full_lr` be the base rate, multiplied by the number of ranks.",),
    look_at=("full_lr", "base_lr", "learning_rate", "LearningRateWarmupCallback"),
    figure="learning_rates",
    hint="Multiply args.base_lr by hvd.size() once, and use the product wherever a rate is set.",
)
def full_rate(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """After the warm-up the learning rate is hvd.size() times that of one process."""
    untold: Finding | None = None
    for name, ranks in runs.clusters.items():
        full, warmup = BASE_LR * len(ranks), WARMUP_EPOCHS[name]
        right = expected.clusters[name][0].facts.fits[0]
        for rank in ranks:
            epochs = _rates(rank)
            for number, rates in enumerate(epochs[warmup:], warmup + 1):
                if rates[-1] > rates[0] * (1 + NEAR):
                    rising = f"in epoch {number} the learning rate of {rank.where} is still rising"
                    untold = untold or Untold(seen=rising)
                    break
                wrong = next((rate for rate in rates if not _near(rate, full)), None)
                if wrong is not None:
                    reached = _near(max(rate for epoch in epochs[:warmup] for rate in epoch), full)
                    return Finding(
                        seen=f"{rank.where} trains at rate {wrong:g} after the warm-up, in epoch {number}",
                        expected=f"{full:g}, {len(ranks)} times {BASE_LR:g}",
                        line=source.line_of(*SCHEDULE) if reached else None,
                    )
            if len(epochs) < len(right.epochs):
                untold = untold or cut_short(rank)
    return untold


@part.check(
    11,
    points=4,
    asks=("Add `hvd.callbacks.LearningRateWarmupCallback` to the callbacks",),
    look_at=("LearningRateWarmupCallback", *SCHEDULE),
    figure="learning_rates",
    hint="Give hvd.callbacks.LearningRateWarmupCallback args.warmup_epochs and the full rate, which it divides by "
    "hvd.size() itself. Add it on every rank.",
)
def warm_up(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The learning rate begins with that of one process and grows with every batch for args.warmup_epochs epochs."""
    for name, ranks in runs.clusters.items():
        full, warmup = BASE_LR * len(ranks), WARMUP_EPOCHS[name]
        for rank in ranks:
            epochs = _rates(rank)
            if len(epochs) < warmup:
                return cut_short(rank)
            rates, steps = [rate for epoch in epochs for rate in epoch], sum(map(len, epochs[:warmup]))
            if not _grows(rates[:steps], full):
                shown = ", ".join(f"{rate:.3g}" for rate in rates[: steps + 1])
                return Finding(
                    seen=f"{rank.where}: from batch to batch, the learning rate is {shown}",
                    expected=f"growth with every batch, from about {BASE_LR:g} to {full:g} in "
                    f"{counted(warmup, 'epoch')}, which is args.warmup_epochs",
                )
    return None


def _grows(rates: list[float], full: float) -> bool:
    """Whether the rates of a warm-up grow with every batch, without a jump, from one process' to the full one."""
    most = STEEPEST * (full - BASE_LR) / len(rates)
    pairs = list(itertools.pairwise(rates))
    grow = (
        number == len(pairs) and _near(after, full)  # the last but one may be the full rate already
        if _near(rate, full)
        else rate * (1 + NEAR / 10) < after <= min(rate + most, full * (1 + NEAR))
        for number, (rate, after) in enumerate(pairs, 1)
    )
    return (1 - NEAR) * BASE_LR <= rates[0] <= BASE_LR + most and rates[-1] >= full - most and all(grow)


@part.check(
    11,
    points=3,
    asks=("After the warm-up the schedule sets the rate",),
    look_at=SCHEDULE,
    hint="Let lr_schedule return parts of the full rate, and keep LearningRateScheduler in the list of callbacks.",
)
def schedule(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """After the warm-up the schedule sets the learning rate of all ranks, after a restart, too.

    Of later epochs, the judge lets the script's callbacks begin some.
    """
    for name, ranks in runs.clusters.items():
        for rank, right in zip(ranks, expected.clusters[name], strict=True):
            if not rank.facts.fits or "trained" not in rank.facts.order:
                return cut_short(rank)
            own, should = rank.facts.fits[0].schedule, right.facts.fits[0].schedule
            for before, epoch in zip(("", *should), should, strict=False):
                if epoch not in own:
                    return Unclear(seen=f"{rank.where} cannot begin epoch {int(epoch) + 1}: its callbacks fail")
                if not _near(own[epoch], should[epoch]):
                    as_before = before and _near(own[epoch], own[before])
                    same = f", as in epoch {int(before) + 1}" if as_before else ""
                    seen = f"{rank.where} would train at a learning rate of {own[epoch]:g} in epoch {int(epoch) + 1}"
                    return Finding(seen=f"{seen}{same}", expected=f"{should[epoch]:g}")
    return _restarted(runs, expected)


def _restarted(runs: HorovodRuns, expected: HorovodRuns) -> Finding | None:
    """Compare the rates after a restart, of the epochs that the solution trains for, too."""
    for rank, right in zip(runs.reserved.get("resumed", []), expected.reserved.get("resumed", []), strict=False):
        if not rank.facts.fits or not right.facts.fits:
            continue
        should = dict(enumerate(_rates(right), right.facts.fits[0].initial_epoch))
        for number, rates in enumerate(_rates(rank), rank.facts.fits[0].initial_epoch):
            wrong = [rate for rate in rates if number in should and not _near(rate, should[number][0])]
            if wrong:
                return Finding(
                    seen=f"{rank.where} trains at a learning rate of {wrong[0]:g} in epoch {number + 1}",
                    expected=f"{should[number][0]:g}",
                    hint="The warm-up is for the first epochs.",
                )
    return None


def _rates(rank: HorovodRank) -> list[list[float]]:
    """Return the learning rates of each epoch that was ended, by batch."""
    if not rank.facts.fits:
        return []
    fit: Fit = rank.facts.fits[0]
    rates = iter(batch.rate for batch in fit.batches)
    epochs = [list(itertools.islice(rates, epoch.steps)) for epoch in fit.epochs if epoch.own]
    return list(itertools.takewhile(bool, epochs))


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= NEAR * abs(other)
