"""The checks of step 11, on made-up runs: what each finds, the line that it names, and its words."""

import itertools

import pytest

from grader.checks import production
from grader.checks.production import rate
from grader.checks.production.imagenet_resnet50 import WARMUP_EPOCHS
from grader.terms.clusters import BASE_LR
from grader.terms.runs import Runs
from tests.grader.checks.judged import find
from tests.grader.checks.made_up import LATER, SIZES, SOURCE, STEPS, all_right, fits, line, set_rates


@pytest.fixture
def runs() -> Runs:
    """Runs of a script that does all that is asked for."""
    return all_right()


@pytest.fixture
def right() -> Runs:
    """Runs of the solution."""
    return all_right()


ONE, TWO = BASE_LR, 2 * BASE_LR
RISING = [ONE * (1 + (step + 1) / STEPS) for step in range(STEPS)]  # on two hosts, in the first epoch


def test_the_rate_of_one_process_after_the_warm_up(runs, right):
    set_rates(runs, "two-hosts", [ONE] * 8)
    found = find(rate.full_rate, runs, right, SOURCE)
    assert (
        found.message
        == "Rank 0 (two-hosts) trains at rate 0.01 after the warm-up, in epoch 2. Expected: 0.02, 2 times 0.01."
    )
    assert found.line == line("full_lr = ")


def test_the_schedules_line_where_the_warm_up_has_reached_the_full_rate(runs, right):
    set_rates(runs, "two-hosts", [*RISING, *[ONE] * 4], rank=1)
    found = find(rate.full_rate, runs, right, SOURCE)
    assert found.message.startswith("Rank 1 (two-hosts)") and found.line == line("def lr_schedule(")


@pytest.mark.parametrize(("loss", "found"), [(2.3, False), (2.3001, False), (None, False), (1.15, True), (4.6, True)])
def test_a_loss_that_is_a_multiple_makes_each_step_as_long(runs, right, loss, found):
    for rank in right.ranks():
        rank.facts.fits[0].loss = 2.3
    for rank in runs.ranks():
        rank.facts.fits[0].loss = loss
    scaled = find(rate.full_rate, runs, right, SOURCE)
    assert bool(scaled) == found and (not found or f"{loss / 2.3:g} times the solution's" in scaled.message)
    assert not found or scaled.line == line("loss=")


def test_a_longer_warm_up_is_not_taken_for_the_time_after_it(runs, right):
    longer = [ONE * (1 + (step + 1) / 20) for step in range(8)]
    set_rates(runs, "two-hosts", longer)
    found = find(rate.full_rate, runs, right, SOURCE)
    assert "in epoch 2 the learning rate of Rank 0 (two-hosts) is still rising" in found.message
    found = find(rate.warm_up, runs, right, SOURCE)
    assert "the learning rate is 0.0105, 0.011, 0.0115, 0.012, 0.0125." in found.message


@pytest.mark.parametrize(
    "shares",
    [
        [0.5, 0.7, 0.9, 1, 1],
        [2, 2, 2, 2, 2],
        [1, 1, 1, 1, 2],
        [1, 1.1, 1.8, 2, 2],
        [1, 1.2, 1.1, 2, 2],
        [1, 1.5, 2, 2.5, 2],
        [1.5, 2, 2, 2, 2],
        [1, 1.1, 1.2, 1.3, 2],
        [1, 1.1, 1.2, 1.3, 1.3],
    ],
    ids=str,
)
def test_warm_ups_that_are_none_are_shown(runs, right, shares):
    rates = [ONE * share for share in shares]
    set_rates(runs, "two-hosts", rates + rates[-1:] * 3)
    found = find(rate.warm_up, runs, right, SOURCE)
    assert found.message == (
        f"Rank 0 (two-hosts): from batch to batch, the learning rate is {', '.join(f'{each:.3g}' for each in rates)}. "
        "Expected: growth with every batch, from about 0.01 to 0.02 in 1 epoch, which is args.warmup_epochs."
    )
    assert found.line == line("LearningRateWarmupCallback(")


def test_curved_warm_ups_are_right(runs, right):
    for name, size in SIZES.items():
        count = STEPS * WARMUP_EPOCHS[name]
        for begin, power in itertools.product((0, 1), (0.7, 1, 2)):
            shares = [((step + begin) / count) ** power for step in range(count)]
            set_rates(runs, name, [ONE * (1 + (size - 1) * share) for share in shares])
            assert rate.warm_up(runs, right, SOURCE) is None
        set_rates(runs, name, [ONE * size ** (step / count) for step in range(count)])
        assert rate.warm_up(runs, right, SOURCE) is None


def test_a_schedule_that_lowers_nothing(runs, right):
    fits(runs, "two-hosts")[1].schedule = dict.fromkeys(LATER, TWO)
    found = find(rate.schedule, runs, right, SOURCE)
    assert found.message == (
        "Rank 1 (two-hosts) would train at a learning rate of 0.02 in epoch 31, as in epoch 30. Expected: 0.002."
    )
    assert found.line == line("def lr_schedule(")


def test_a_warm_up_that_begins_anew_after_a_restart(runs, right):
    set_rates(runs, "resumed", RISING)
    found = find(rate.schedule, runs, right, SOURCE)
    assert found.message == (
        "Rank 0 (started again) trains at a learning rate of 0.0125 in epoch 11. Expected: 0.03. "
        "The warm-up is for the first epochs."
    )


def test_a_crash_in_fit_is_not_taken_for_another_steps(runs, right):
    for rank in runs.clusters["two-hosts"]:
        rank.facts.fits[0].epochs, rank.facts.fits[0].batches, rank.facts.fits[0].schedule = [], [], {}
        rank.facts.order = []
        rank.error, rank.error_line = "AttributeError: 'float' object has no attribute 'dtype'", 9
    outcomes, _ = production.part.compare(11, runs, right, SOURCE)
    words = [outcome.message for outcome in outcomes if outcome.step == 11]
    assert (
        words
        == [
            "Not checked: Rank 0 (two-hosts) does not train to its end "
            "(AttributeError: 'float' object has no attribute 'dtype')."
        ]
        * 3
    )


def test_callbacks_that_cannot_begin_a_later_epoch(runs, right):
    fits(runs, "two-hosts")[1].schedule = {}
    found = find(rate.schedule, runs, right, SOURCE)
    assert found.message == "Needs manual review: Rank 1 (two-hosts) cannot begin epoch 30: its callbacks fail."
