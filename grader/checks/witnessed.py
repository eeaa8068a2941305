"""What a witness saw of a script's rank: the part of a verdict that does not rest on the script's own process.

A check asks here last, when all that the script's ranks reported is right. What the witness did not see makes a verdict
unclear, never a pass: see docs/architecture.md.
"""

from collections.abc import Collection
from itertools import zip_longest

from grader.checks.part import Finding
from grader.facts import Testimony
from grader.runs import HorovodRank, HorovodRuns

NAME = "witnessed"  # of the topology
NEAR = 0.01  # relative, of rates
SMALL = 1 / 30  # of the size of the solution's gradients


def met(runs: HorovodRuns) -> Finding | None:
    """Whether the script's rank and the witness initialised Horovod together."""
    rank, seen = _seen(runs)
    if not rank:
        return _not_run(runs)
    return None if seen.met else _unclear(rank, "did not initialise Horovod with it")


def applies_means(runs: HorovodRuns, expected: HorovodRuns, rates: Collection[float]) -> Finding | None:
    """Whether each step of the script's rank applied the mean of its gradients and the witness's.

    Args:
        runs: the script's.
        expected: the solution's.
        rates: the learning rates that are right, of which a step may have any.
    """
    training = _training(runs)
    if not isinstance(training, tuple):
        return training
    rank, seen = training
    for rate in (rate for epoch in seen.steps for rate in epoch if rate is not None):
        if not any(abs(rate - right) <= NEAR * right for right in rates):
            return _unclear(rank, f"applied the mean of the gradients at rate {rate:.4g}")
    right = expected.testimony
    if right and seen.values != right.values:
        return _unclear(rank, f"trained {seen.values} values, where the solution trains {right.values}")
    if right and abs(seen.momentum - right.momentum) > NEAR:
        return _unclear(rank, f"applied the mean of the gradients with momentum {seen.momentum:.2g}")
    if right and seen.least < SMALL * right.least:
        return _unclear(rank, "added next to nothing to the mean of the gradients")
    return None


def rates(runs: HorovodRuns) -> tuple[str, list[list[float]]] | Finding | None:
    """Return the learning rates at which the script's rank applied the means of gradients, by epoch, and who it is.

    Where they are not those that it reports, or were not seen, return that; None where the script has failed before.
    """
    training = _training(runs)
    if not isinstance(training, tuple):
        return training
    rank, seen = training
    reported = [batch.rate for fit in rank.facts.fits for batch in fit.batches]
    taken = [0.0 if rate is None else rate for epoch in seen.steps for rate in epoch]
    for number, (rate, said) in enumerate(zip_longest(taken, reported, fillvalue=0.0), 1):
        if not abs(rate - said) <= NEAR * said:
            return _unclear(rank, f"did not apply the mean of the gradients at its learning rate in step {number}")
    return rank.where, [[rate or 0.0 for rate in epoch] for epoch in seen.steps]


def took_weights(runs: HorovodRuns) -> Finding | None:
    """Whether the script's rank took the witness's weights over."""
    rank, seen = _seen(runs)
    if not rank:
        return _not_run(runs)
    return None if seen.started else _unclear(rank, "did not take its weights over")


def took_steps(runs: HorovodRuns, least: int, most: int, epochs: Collection[int]) -> Finding | None:
    """Whether each epoch of the script's rank had so many steps in which it exchanged gradients with the witness.

    There has to be one of these numbers of epochs, unless the mean of the metrics says when to stop.
    """
    training = _training(runs)
    if not isinstance(training, tuple):
        return training
    rank, seen = training
    wrong = next((len(epoch) for epoch in seen.steps if not least <= len(epoch) <= most), None)
    if wrong is not None:
        return _unclear(rank, f"took {wrong} steps in an epoch")
    if len(seen.steps) not in (*epochs, seen.last):
        return _unclear(rank, f"trained for {_epochs(len(seen.steps))}")
    return None


def stopped(runs: HorovodRuns, line: int | None) -> Finding | None:
    """Whether the script's rank stopped when the mean of both ranks' metrics said so; its own said so before."""
    rank, seen = _seen(runs)
    if not rank:
        return _not_run(runs)
    if not seen.averaged:
        return _unclear(rank, "did not average its metrics with it")
    if len(seen.steps) != seen.last:
        return Finding(
            f"{rank.where} trains for {_epochs(len(seen.steps))}. Expected: {seen.last}, since the mean of all ranks' "
            f"metrics reaches the target in epoch {seen.last}. Its own metrics reach it in epoch 1.",
            line,
        )
    return None


def _training(runs: HorovodRuns) -> tuple[HorovodRank, Testimony] | Finding | None:
    """Return the script's rank next to the witness, and what that saw, if both trained to the end as is reported.

    Otherwise return why not; None where the script has failed before.
    """
    rank, seen = _seen(runs)
    if not rank:
        return _not_run(runs)
    if seen.misfit:
        return _unclear(rank, seen.misfit)
    if rank.error or rank.ended_for or rank.exit:
        return _unclear(rank, f"did not run to completion: {rank.error or f'exit status {rank.exit}'}")
    reported = [epoch.steps for fit in rank.facts.fits for epoch in fit.epochs]
    taken = [len(epoch) for epoch in seen.steps]
    if taken != reported:
        return _unclear(rank, f"reports {reported} steps per epoch, and {taken} were seen")
    if not any(map(any, seen.steps)):  # a broadcast came after each
        message = f"Not checked: {rank.where} takes too few steps to see what each of them applies."
        return Finding(message, untold=True)
    return rank, seen


def _epochs(number: int) -> str:
    return f"{number} epoch{'' if number == 1 else 's'}"


def _seen(runs: HorovodRuns) -> tuple[HorovodRank | None, Testimony]:
    """Return the script's rank next to the witness, if it was run, and what the witness saw, if anything."""
    ranks = runs.reserved.get(NAME, [])
    return (ranks[0] if ranks else None), runs.testimony or Testimony()


def _not_run(runs: HorovodRuns) -> Finding | None:
    """Return why there is no testimony. Where a rank had to be ended, the script has failed, whatever is found here."""
    if any(rank.ended_for for rank in runs.ranks()):
        return None
    return Finding("Not run next to a rank of the course's own, since the program had to be ended before.", untold=True)


def _unclear(rank: HorovodRank, what: str) -> Finding:
    return Finding(
        f"Needs manual review: next to a rank of the course's own program ({rank.topology}), {rank.name.lower()} "
        f"{what}. The reports of its ranks say otherwise.",
        unclear=True,
    )
