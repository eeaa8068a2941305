"""The checks of step 11: the learning rate of many ranks.

What is expected of the first epochs is counted out from the judge's own arguments; of later ones, from what the
solution's callbacks set.
"""

import ast
import itertools

from grader.checks.production.imagenet_resnet50 import WARMUP_EPOCHS, part
from grader.checks.training import same_loss
from grader.reading.parsing import Source
from grader.terms.clusters import BASE_LR
from grader.terms.facts import Fit
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import HorovodRank, HorovodRuns

NEAR = 0.01  # relative
STEEPEST = 2.4  # times the mean growth of a batch: curved warm-ups are right, jumps are not


@part.check(
    11,
    points=3,
    asks=("Let `full_lr` be the base rate, multiplied by the number of ranks.",),
    figure="learning_rates",
    hint="Multiply args.base_lr by hvd.size() once, and use the product wherever a rate is set.",
)
def full_rate(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """After the warm-up the learning rate is hvd.size() times that of one process."""
    untold: Finding | None = None
    for name, ranks in runs.clusters.items():
        full, warmup = BASE_LR * len(ranks), WARMUP_EPOCHS[name]
        right = expected.clusters[name][0].facts.fits[0]
        seen = right.epochs[warmup:]
        for rank in ranks:
            scaled = same_loss(rank.facts.fits[0], right, source) if rank.facts.fits else None
            if scaled:
                return scaled
            epochs = _rates(rank)
            for number, rates in enumerate(epochs[warmup:], warmup + 1):
                if rates[-1] > rates[0] * (1 + NEAR):
                    message = f"in epoch {number} the learning rate of {rank.where} is still rising."
                    untold = untold or Untold(seen=message)
                    break
                wrong = next((rate for rate in rates if not _near(rate, full)), None)
                if wrong is not None:
                    message = f"{rank.where} trains at rate {wrong:g} after the warm-up, in epoch {number}."
                    message += f" Expected: {full:g}, {len(ranks)} times {BASE_LR:g}."
                    reached = _near(max(rate for epoch in epochs[:warmup] for rate in epoch), full)
                    return Finding(seen=message, line=_line_of_schedule(source) if reached else _line_of_full(source))
            if len(epochs) < warmup + len(seen):
                untold = untold or _cut_short(rank)
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
    figure="learning_rates",
    hint="Give hvd.callbacks.LearningRateWarmupCallback args.warmup_epochs and the full rate, which it divides by "
    "hvd.size() itself. Add it on every rank.",
)
def warm_up(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The learning rate begins with that of one process and grows with every batch for args.warmup_epochs epochs."""
    line = source.line_of("LearningRateWarmupCallback", "LearningRateScheduleCallback", "lr_schedule", "callbacks")
    for name, ranks in runs.clusters.items():
        for rank in ranks:
            epochs = _rates(rank)
            warmup = WARMUP_EPOCHS[name]
            finding = (
                _warm_up(rank.where, epochs, warmup, BASE_LR, BASE_LR * len(ranks)) if len(epochs) >= warmup else None
            )
            if finding:
                finding.line = line
                return finding
            if len(epochs) < warmup:
                return _cut_short(rank)
    return None


@part.check(
    11,
    points=3,
    asks=("The optimizer and the schedule take it from there.", "After the warm-up the schedule sets the rate"),
    hint="Let lr_schedule return parts of the full rate, and keep LearningRateScheduler in the list of callbacks.",
)
def schedule(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """After the warm-up the schedule sets the learning rate of all ranks, after a restart, too.

    Of later epochs, the judge lets the script's callbacks begin some.
    """
    line = _line_of_schedule(source)
    for name, ranks in runs.clusters.items():
        for rank, right in zip(ranks, expected.clusters[name], strict=True):
            if not rank.facts.fits or "trained" not in rank.facts.order:
                return _cut_short(rank)
            own, should = rank.facts.fits[0].schedule, right.facts.fits[0].schedule
            for before, epoch in zip(("", *should), should, strict=False):
                if epoch not in own:
                    message = f"{rank.where} cannot begin epoch {int(epoch) + 1}: its callbacks fail."
                    return Unclear(seen=message, line=line)
                if not _near(own[epoch], should[epoch]):
                    same = before and _near(own[epoch], own[before])
                    message = f"{rank.where} would train at a learning rate of {own[epoch]:g} in epoch {int(epoch) + 1}"
                    message += f", as in epoch {int(before) + 1}" if same else ""
                    return Finding(seen=f"{message}. Expected: {should[epoch]:g}.", line=line)
    return _restarted(runs, expected, line)


def _restarted(runs: HorovodRuns, expected: HorovodRuns, line: int | None) -> Finding | None:
    """Compare the rates after a restart, of the epochs that the solution trains for, too."""
    for rank, right in zip(runs.reserved.get("resumed", []), expected.reserved.get("resumed", []), strict=False):
        if not rank.facts.fits or not right.facts.fits:
            continue
        first, begin = rank.facts.fits[0].initial_epoch, right.facts.fits[0].initial_epoch
        should = dict(enumerate(_rates(right), begin))
        for number, rates in enumerate(_rates(rank), first):
            wrong = [rate for rate in rates if number in should and not _near(rate, should[number][0])]
            if wrong:
                message = f"Started again, rank {rank.number} trains at a learning rate of {wrong[0]:g} in epoch "
                message += f"{number + 1}. Expected: {should[number][0]:g}. The warm-up is for the first epochs."
                return Finding(seen=message, line=line)
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


def _warm_up(where: str, epochs: list[list[float]], warmup: int, base: float, full: float) -> Finding | None:
    """Look at the rates of the batches of the warm-up, and at the one after it."""
    rates = [rate for epoch in epochs[:warmup] for rate in epoch]
    of_epoch = [number for number, epoch in enumerate(epochs[:warmup], 1) for _ in epoch]
    most = STEEPEST * (full - base) / len(rates)
    expected = f"Expected: growth with every batch, from about {base:g} to {full:g} in {_counted(warmup)}."
    if rates[0] < (1 - NEAR) * base:
        message = f"{where} begins with a learning rate of {rates[0]:g}, less than that of one process."
        return Finding(seen=f"{message} {expected}")
    if rates[0] > base + most:
        return Finding(seen=f"{where} begins with a learning rate of {rates[0]:g}. {expected}")
    for number, (rate, after) in enumerate(itertools.pairwise(rates)):
        told = f"epoch {of_epoch[number + 1]}"
        if after < (1 - NEAR) * rate:
            return Finding(seen=f"{where}: the learning rate falls from {rate:g} to {after:g} in {told}. {expected}")
        if after > (1 + NEAR) * full:
            return Finding(seen=f"{where}: the learning rate reaches {max(rates):g} in {told}. {expected}")
        if _near(rate, full) and number < len(rates) - 2:
            return Finding(
                seen=f"{where}: the learning rate is {rate:g} in epoch {of_epoch[number]} already. {expected}"
            )
        if after <= rate * (1 + NEAR / 10) and not _near(rate, full):
            same = next((other for other, later in enumerate(rates) if other > number and not _near(later, rate)), None)
            which = f"batch {number + 1} to batch {same or len(rates)}"
            return Finding(seen=f"{where}: the learning rate stays at {rate:g} from {which}. {expected}")
        if after > rate + most:
            return Finding(seen=f"{where}: the learning rate jumps from {rate:g} to {after:g} in {told}. {expected}")
    if rates[-1] < full - most:
        later = epochs[warmup][0] if len(epochs) > warmup else rates[-1]
        then = f", and then jumps to {later:g}" if later > rates[-1] + most else ""
        message = f"{where}: the learning rate has reached {rates[-1]:g} at the end of epoch {warmup}{then}."
        return Finding(seen=f"{message} {expected}")
    return None


def _counted(epochs: int) -> str:
    return f"{epochs} epoch{'s' if epochs > 1 else ''}, which is args.warmup_epochs"


def _cut_short(rank: HorovodRank) -> Finding:
    why = f" ({rank.error})" if rank.error else ""
    return Untold(seen=f"{rank.where} does not train to its end{why}.", line=rank.error_line)


def _line_of_full(source: Source) -> int | None:
    return source.line_of("full_lr", "base_lr", "learning_rate", "LearningRateWarmupCallback")


def _line_of_schedule(source: Source) -> int | None:
    """Return the line of the schedule's function, or of what takes it, or of the list that lacks it."""
    functions = [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)]
    own = next((node.lineno for node in functions if node.name == "lr_schedule"), None)
    used = source.line_of("LearningRateScheduler")
    return own if used else used or source.line_of("LearningRateScheduleCallback", "callbacks")
