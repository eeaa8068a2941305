"""The checks of step 11, on made-up runs: what each finds, the line that it names, and its words."""

import itertools

import pytest

from grader.checks import production
from grader.checks.production import rate
from grader.checks.production.imagenet_resnet50 import WARMUP_EPOCHS
from grader.terms.clusters import BASE_LR
from tests.grader.checks.made_up import of, rows
from tests.grader.checks.made_up_production import LATER, PRODUCTION, SIZES, STEPS, line, of_rates, solved

ONE, TWO = BASE_LR, 2 * BASE_LR
RISING = [ONE * (1 + (step + 1) / STEPS) for step in range(STEPS)]  # on two hosts, in the first epoch
FULL_LR, SCHEDULE, WARM_UP = line("full_lr = "), line("def lr_schedule("), line("LearningRateWarmupCallback(")


def times(*factors, until_8):
    """Return the learning rates of 8 steps: these multiples of one process's rate, and then the last one."""
    return [ONE * factor for factor in (*factors, *[until_8] * (8 - len(factors)))]


LONGER = [ONE * (1 + (step + 1) / 20) for step in range(8)]
WARM_UPS = [
    times(0.5, 0.7, 0.9, until_8=1),
    times(until_8=2),
    times(*[1] * 4, until_8=2),
    times(until_8=1),
    times(1, 1.1, 1.8, until_8=2),
    times(1, 1.2, 1.1, until_8=2),
    times(1, 1.5, 2, 2.5, until_8=2),
    times(1.5, until_8=2),
    times(1, 1.1, 1.2, 1.3, until_8=2),
    times(1, 1.1, 1.2, until_8=1.3),
    LONGER,
]
WRONG = {
    rate.full_rate: [
        (of_rates("two-hosts", [ONE] * 8), FULL_LR, "at rate 0.01 after the warm-up, in epoch 2. Expected: 0.02"),
        (of_rates("two-hosts", [*RISING, *[ONE] * 4], 1), SCHEDULE, "Rank 1 (two-hosts)"),
    ],
    rate.warm_up: [
        (of_rates("two-hosts", rates), WARM_UP, ", ".join(f"{rate:g}" for rate in rates[:5])) for rates in WARM_UPS
    ],
    rate.schedule: [
        (of("two-hosts", 1, schedule=dict.fromkeys(LATER, TWO)), SCHEDULE, "0.02 in epoch 31, as in epoch 30."),
        (of_rates("resumed", RISING), SCHEDULE, "trains at a learning rate of 0.0125 in epoch 11. Expected: 0.03."),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "line", "message"), rows(WRONG))
def test_what_is_wrong_is_said_with_its_line(check, change, line, message):
    assert PRODUCTION.fails(check, change, message).line == line
    assert len(PRODUCTION.find(check, change).message) < 300


def test_curved_warm_ups_are_right():
    for name, size in SIZES.items():
        count = STEPS * WARMUP_EPOCHS[name]
        shares = [
            [((step + begin) / count) ** power for step in range(count)]
            for begin, power in itertools.product((0, 1), (0.7, 1, 2))
        ]
        ways = [[ONE * (1 + (size - 1) * share) for share in own] for own in shares]
        for rates in [*ways, [ONE * size ** (step / count) for step in range(count)]]:
            assert PRODUCTION.find(rate.warm_up, of_rates(name, rates)) is None


def test_a_crash_in_fit_is_not_taken_for_another_steps():
    runs = solved()
    error = "AttributeError: 'float' object has no attribute 'dtype'"
    of("two-hosts", epochs=[], batches=[], schedule={}, order=[], error=error, error_line=9)(runs)
    outcomes, _ = production.part.compare(11, runs, solved(), PRODUCTION.source)
    words = [outcome.message for outcome in outcomes if outcome.step == 11]
    assert words == [f"Not checked: Rank 0 (two-hosts) does not train to its end ({error})."] * 3


def test_callbacks_that_cannot_begin_a_later_epoch():
    found = PRODUCTION.find(rate.schedule, of("two-hosts", 1, schedule={}))
    assert found.message == "Needs manual review: Rank 1 (two-hosts) cannot begin epoch 30: its callbacks fail."
