"""A made-up rank next to a witness, and what the witness says of it."""

from msgspec.structs import replace

from grader.checks import witnessed
from grader.facts import Batch, Epoch, Fit, HorovodFacts, State, Testimony
from grader.runs import Rank, Runs


def next_to_witness(runs: Runs, took=((None, 0.01),), **seen) -> Runs:
    """Add a rank that took these steps, each at a rate, next to a witness that saw all of it; but for what is given."""
    fit = Fit(0, {}, [], [], None, [], [], 0, State([], [], 0, []))
    fit.epochs = [Epoch(len(rates)) for rates in took]
    fit.batches = [Batch(0.01 if rate is None else rate, None, None, []) for rates in took for rate in rates]
    rank = Rank(1, 1, "Rank 1", "next to a witness", 0, None, "", "", "", HorovodFacts(fits=[fit]), reported=True)
    runs.reserved[witnessed.NAME] = [rank]
    right = Testimony(True, True, [list(rates) for rates in took], 0.0, 1.0, 4, True, len(took))
    runs.testimony = replace(right, **seen)
    return runs
