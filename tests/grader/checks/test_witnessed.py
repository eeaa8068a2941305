"""What a witness did not see is no pass, whatever the script's own ranks report."""

import pytest

from grader.checks import witnessed
from grader.checks.part import Finding
from grader.runs import Runs
from tests.grader.checks.made_up_witness import next_to_witness

STEPS = ((0.01, 0.01), (0.01, 0.01))


def made(**seen):
    return next_to_witness(Runs({}), STEPS, **seen)


RIGHT = made()
CHECKS = {
    "met": witnessed.met,
    "means": lambda runs: witnessed.applies_means(runs, RIGHT, {0.01}),
    "rates": lambda runs: found if isinstance(found := witnessed.rates(runs), Finding) else None,
    "weights": witnessed.took_weights,
    "steps": lambda runs: witnessed.took_steps(runs, 2, 2, (2,)),
    "stopped": lambda runs: witnessed.stopped(runs, 5),
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_what_was_seen_passes_and_what_was_not_run_does_not(check):
    assert check(RIGHT) is None
    found = check(Runs({}))
    assert found.untold and found.message == (
        "Not run next to a rank of the course's own, since the program had to be ended before."
    )


@pytest.mark.parametrize(
    ("check", "seen", "message"),
    [
        ("met", {"met": False}, "did not initialise Horovod with it"),
        ("means", {"misfit": "changed its weights"}, "rank 1 changed its weights."),
        ("means", {"steps": [[0.01, 0.01]]}, "reports [2, 2] steps per epoch, and [2] were seen"),
        ("means", {"steps": [[None, 0.02], [0.01, 0.01]]}, "applied the mean of the gradients at rate 0.02"),
        ("means", {"values": 3}, "trained 3 values, where the solution trains 4"),
        ("means", {"values": 5}, "trained 5 values"),
        ("means", {"least": 0.001}, "added next to nothing to the mean"),
        ("rates", {"steps": [[0.01, 0.01], [0.01, 0.02]]}, "at its learning rate in step 4"),
        ("rates", {"steps": [[0.01, 0.01], [0.01]]}, "steps per epoch"),
        ("rates", {"steps": [[None, 0.01], [0.01, 0.01]]}, "in step 1"),
        ("rates", {"misfit": "changed its weights"}, "changed its weights"),
        ("weights", {"started": False}, "did not take its weights over"),
        ("steps", {"steps": []}, "steps per epoch"),
        ("stopped", {"averaged": False}, "did not average its metrics with it"),
    ],
)
def test_what_the_witness_did_not_see_is_unclear(check, seen, message):
    found = CHECKS[check](made(**seen))
    assert found.unclear and message in found.message


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_where_a_rank_had_to_be_ended_before_its_reports_are_all_there_is(check):
    (rank,) = next_to_witness(Runs({})).reserved.popitem()[1]
    rank.ended_for = "stall"
    assert check(Runs({"one-host": [rank]})) is None


def test_steps_that_all_have_a_broadcast_behind_them_are_not_checked():
    found = CHECKS["means"](made(steps=[[None, None], [None, None]]))
    assert found.untold and "takes too few steps" in found.message


def test_an_epoch_of_other_steps_is_unclear_where_the_rank_reports_it_too():
    found = witnessed.took_steps(made(), 3, 3, (2,))
    assert found.unclear and "took 2 steps in an epoch" in found.message


@pytest.mark.parametrize("rate", [float("nan"), 0.02, -0.01])
def test_a_rate_that_is_reported_and_was_not_taken_is_unclear(rate):
    runs = made()
    runs.reserved[witnessed.NAME][0].facts.fits[0].batches[1].rate = rate
    assert witnessed.rates(runs).unclear


@pytest.mark.parametrize(
    ("ended", "how"), [({"error": "EOFError: no input"}, "EOFError: no input"), ({"exit": 3}, "exit status 3")]
)
def test_a_rank_that_fails_next_to_a_witness_alone_is_unclear(ended, how):
    runs = made()
    for name, value in ended.items():
        setattr(runs.reserved[witnessed.NAME][0], name, value)
    found = CHECKS["means"](runs)
    assert found.unclear and found.message == (
        "Needs manual review: next to a rank of the course's own program (next to a witness), rank 1 did not run to "
        f"completion: {how}. The reports of its ranks say otherwise."
    )


@pytest.mark.parametrize(("epochs", "right"), [(1, True), (2, False), (3, True), (4, True)])
def test_a_rank_trains_for_a_number_of_epochs_that_something_explains(epochs, right):
    steps = ((0.01, 0.01),) * epochs
    runs = next_to_witness(Runs({}), steps, last=3)
    found = witnessed.took_steps(runs, 2, 2, (1, 4))
    assert (found is None) == right and (right or (found.unclear and "trained for 2 epochs" in found.message))


def test_a_rank_that_stops_by_its_own_metrics_is_wrong():
    found = CHECKS["stopped"](made(last=1))
    assert not found.unclear and found.line == 5
    assert "trains for 2 epochs. Expected: 1, since the mean of all ranks' metrics reaches the target" in found.message
