"""The checks of step 11: the learning rate of many ranks.

What is expected of the first epochs is counted out from the judge's own arguments; of later ones, from what the
solution's callbacks set.
"""

import itertools

from grader.checks.production.imagenet_resnet50 import WARMUP_EPOCHS, part
from grader.checks.training import cut_short, same_loss
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
            if scaled := same_loss(rank.facts.fits[0], right, source) if rank.facts.fits else None:
                return scaled
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
    asks=(
        "Put Horovod's warm-up into the list of callbacks",
        "training begins with the rate of one process",
        "it grows with every batch",
        "the rate grows with every batch",
    ),
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
            if wrong := _wrong_warm_up(epochs, warmup, full):
                return Finding(
                    seen=f"{rank.where}: the learning rate {wrong}",
                    expected=f"growth with every batch, from about {BASE_LR:g} to {full:g} in "
                    f"{counted(warmup, 'epoch')}, which is args.warmup_epochs",
                )
    return None


def _wrong_warm_up(epochs: list[list[float]], warmup: int, full: float) -> str | None:
    """Say what is wrong with the rates of the batches of a warm-up, or with the one after it."""
    rates = [rate for epoch in epochs[:warmup] for rate in epoch]
    of_epoch = [number for number, epoch in enumerate(epochs[:warmup], 1) for _ in epoch]
    most = STEEPEST * (full - BASE_LR) / len(rates)
    if rates[0] < (1 - NEAR) * BASE_LR:
        return f"begins at {rates[0]:g}, which is less than that of one process"
    if rates[0] > BASE_LR + most:
        return f"begins at {rates[0]:g}"
    for number, (rate, after) in enumerate(itertools.pairwise(rates)):
        when = f"in epoch {of_epoch[number + 1]}"
        if after < (1 - NEAR) * rate:
            return f"falls from {rate:g} to {after:g} {when}"
        if after > (1 + NEAR) * full:
            return f"reaches {max(rates):g} {when}"
        if _near(rate, full) and number < len(rates) - 2:
            return f"is {rate:g} in epoch {of_epoch[number]} already"
        if after <= rate * (1 + NEAR / 10) and not _near(rate, full):
            same = next((other for other, later in enumerate(rates) if other > number and not _near(later, rate)), None)
            return f"stays at {rate:g} from batch {number + 1} to batch {same or len(rates)}"
        if after > rate + most:
            return f"jumps from {rate:g} to {after:g} {when}"
    if rates[-1] < full - most:
        later = epochs[warmup][0] if len(epochs) > warmup else rates[-1]
        jump = f", and then jumps to {later:g}" if later > rates[-1] + most else ""
        return f"has reached {rates[-1]:g} at the end of epoch {warmup}{jump}"
    return None


@part.check(
    11,
    points=3,
    asks=("The optimizer and the schedule take it from there.", "After the warm-up the schedule sets the rate"),
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
