"""The checks of step 24, on made-up trainings: each figure that is off fails the check that is about it."""

import pytest

from course.faster.training import TARGET, TOLERANCE
from grader.checks import faster as checks
from tests.grader.checks.made_up_faster import FASTER, NAME, after, trained


@pytest.mark.parametrize(
    ("check", "values", "message"),
    [
        (checks.together, {"size": 1}, "1 rank"),
        (checks.together, {"apart": True}, "different weights"),
        (checks.target, {"loss": TARGET + TOLERANCE + 0.05}, "94 updates with 3000 images"),
        (checks.target, {"loss": None}, "No loss"),
        (checks.target, {"evaluated": 100}, "100 test images"),
        (checks.communication, {"communication": 9.0, "received": 115_000_000}, "115 MB in 120 allreduces"),
        (checks.time, {"seconds": 24.0}, "1.09 times"),
    ],
)
def test_a_figure_that_is_off_is_named(check, values, message):
    FASTER.fails(check, after(**values), message)


@pytest.mark.parametrize(
    ("check", "values"),
    [
        (checks.target, {"loss": TARGET + TOLERANCE / 2}),
        (checks.target, {"loss": 0.5}),
        (checks.target, {"evaluated": 500}),  # each rank may evaluate its share
        (checks.communication, {"communication": 6.2}),
        (checks.communication, {"images": 500, "communication": 1.0}),  # whatever the way is
        (checks.time, {"seconds": 17.0}),
    ],
)
def test_other_ways_to_the_target_pass(check, values):
    assert FASTER.find(check, after(**values)) is None


@pytest.mark.parametrize(
    ("seconds", "communication", "passes"),
    [
        (20.0, 4.8, True),  # 1.3 times as fast; its bytes and messages say more, so the machine was busy
        (20.0, 12.0, False),
        (23.0, 4.8, False),
    ],
)
def test_a_busy_machine_may_slow_the_second_training(seconds, communication, passes):
    found = FASTER.find(checks.time, after(seconds=seconds, communication=communication))
    assert (found is None) == passes


@pytest.mark.parametrize(("images", "passes"), [(3000, True), (6000, False)])
def test_seconds_of_a_machine_that_is_far_too_busy_do_not_count(images, passes):
    def busy(runs):
        facts = runs.clusters[NAME][0].facts
        facts.after, facts.busy = trained(seconds=60.0, images=images), True

    assert (FASTER.find(checks.time, busy) is None) == passes


def test_a_training_that_does_not_reach_its_end_is_not_judged_further():
    FASTER.is_not_checked(
        checks.together, lambda runs: setattr(runs.clusters[NAME][0].facts, "after", None), "does not reach its end"
    )


@pytest.mark.parametrize(
    ("ended_for", "message"), [("time", "does not end"), ("output", "prints endlessly"), (None, "with status 1")]
)
def test_how_a_training_failed_is_said(ended_for, message):
    runs = FASTER.solved()
    ran = runs.clusters[NAME][0]
    ran.facts.after, ran.exit, ran.ended_for = None, 1, ended_for
    assert message in checks.part.ended(runs, 24, 60.0, "").message


def test_the_error_of_a_rank_is_shown_in_place_of_mpiruns_notice():
    line = "-" * 74
    notice = f"{line}\nprterun detected that one or more processes exited with non-zero status,\nthus …\n{line}\n"
    runs = FASTER.solved()
    ran = runs.clusters[NAME][0]
    ran.facts.after, ran.exit, ran.stdout = None, 1, f"NameError: name 'hvd' is not defined\n{notice}"
    assert checks.part.ended(runs, 24, 60.0, "").message.endswith("NameError: name 'hvd' is not defined")
