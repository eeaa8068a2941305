"""The checks of steps 1 to 6 where ranks end early: each says what was not checked, and neither passes nor fails."""

import pytest

from grader.checks.horovod import epochs, ranks, updates
from grader.terms.runs import Runs
from tests.grader.checks.made_up_horovod import ERROR, ORDER, SCRIPT, batch, epoch, fit, rank, runs

RIGHT = runs(rank(0), rank(1))
BLIND = runs(rank(0, gpus=[]), rank(1, gpus=[]), gpus=False)
BEFORE_MODEL = "Not checked: Rank 1 (2 ranks on one host) ends before it builds a model."
UNTRAINED = "Not checked: Rank 1 (2 ranks on one host) does not reach training (ValueError: odd)."
NO_EPOCH = "Not checked: Rank 1 (2 ranks on one host) does not train to its end (ValueError: odd)."


def crash(order=("init",), fits=(), number=1):
    return rank(number, list(fits), order, **ERROR)


@pytest.mark.parametrize(
    ("check", "ended", "message"),
    [
        (
            ranks.initialised,
            crash(()),
            "Not checked: Rank 1 (2 ranks on one host) ends before Horovod is initialised.",
        ),
        (ranks.pinned, crash(), BEFORE_MODEL),
        (ranks.memory_grows, crash(), BEFORE_MODEL),
        (ranks.without_gpus, crash(), BEFORE_MODEL),
        (ranks.others_are_silent, crash(), UNTRAINED),
        (ranks.same_work, crash(), UNTRAINED),
        (updates.mean_gradient, crash(ORDER), UNTRAINED),
        (updates.same_weights, crash(ORDER), UNTRAINED),
        (  # in a callback of its own
            updates.same_weights,
            crash(ORDER, [fit(batches=[batch(None)])]),
            "Not checked: Rank 1 (2 ranks on one host) does not get past the first batch.",
        ),
        (epochs.training_steps, crash(ORDER), UNTRAINED),
        (epochs.training_steps, crash(ORDER, [fit(each=[epoch(1, 0)], steps=None)]), NO_EPOCH),
        (epochs.validation_steps, crash(ORDER, [fit(each=[epoch(4, 0)])]), NO_EPOCH),
        (epochs.mean_metrics, crash(ORDER, [fit(each=[epoch(4, 0)], reads=[])]), NO_EPOCH),
    ],
)
def test_what_a_crash_hides_is_neither_passed_nor_failed(check, ended, message):
    mine, expected = runs(rank(0), ended), RIGHT
    if check is ranks.without_gpus:
        blind = runs(crash(number=0), crash(), gpus=False)
        mine = Runs(mine.clusters | blind.clusters)
        expected = Runs(RIGHT.clusters | BLIND.clusters)
    if check is epochs.training_steps and ended.facts.fits:
        mine = runs(rank(0, [fit(1, steps=None)]), ended)
    found = check(mine, expected, SCRIPT)
    assert (found.message, found.line) == (message, 3)
    assert not found.explains


def test_a_host_without_gpus_is_not_checked_where_a_rank_had_to_be_ended():
    fails = runs(rank(0, gpus=[]), rank(1, [], ["init"], [], ended_for="stall"), gpus=False)
    found = ranks.without_gpus(fails, BLIND, SCRIPT)
    assert found.message == "Not checked: Rank 1 (2 ranks on one host) had to be ended before it builds a model."


def test_memory_growth_is_not_checked_where_a_rank_can_see_no_gpu():
    found = ranks.memory_grows(runs(rank(0), rank(1, gpus=[])), RIGHT, SCRIPT)
    assert found.message == "Not checked: Rank 1 (2 ranks on one host) can see no GPU."
