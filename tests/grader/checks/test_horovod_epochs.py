"""What the checks of steps 5 and 6 say of the images that ranks take, of their metrics, and of when they stop."""

import pytest

from grader.checks.horovod import epochs
from grader.reading import parsing
from tests.grader.checks.judged import find
from tests.grader.checks.made_up_horovod import SCRIPT, epoch, fit, rank, runs

SOURCE = parsing.read(f"{SCRIPT.text}validation_data = test.flow()\n")
RIGHT = runs(rank(0), rank(1))


def of(fits):
    """Return the runs of ranks of which each says this of model.fit."""
    return runs(*(rank(number, [own]) for number, own in enumerate(fits)))


def of_images(count):
    """Return an epoch of 4 steps into which so many images go."""
    made = epoch()
    made.images = (made.images + epoch(9).images)[:count]
    return made


SAME = epoch()


@pytest.mark.parametrize(
    ("check", "fits", "message", "line"),
    [
        (
            epochs.training_steps,
            [fit(), fit(each=[of_images(2)])],
            "Rank 1 (2 ranks on one host) trains on 2 images, in 4 steps. Expected: 8, its share of one pass over the "
            "training set.",
            7,
        ),
        (
            epochs.training_steps,
            [fit(), fit(each=[of_images(20)])],
            "Rank 1 (2 ranks on one host) trains on 20 images, in 4 steps. Expected: 8, its share of one pass over the "
            "training set.",
            7,
        ),
        (
            epochs.training_steps,
            [fit(), fit(each=[epoch(), of_images(2)])],
            "Rank 1 (2 ranks on one host), in epoch 2, trains on 2 images, in 4 steps. Expected: 8, its share of one "
            "pass over the training set.",
            7,
        ),
        (
            epochs.training_steps,
            [fit(each=[SAME]), fit(each=[SAME])],
            "All ranks train on the same 8 images (2 ranks on one host). Expected: together they see about the whole "
            "training set, each in an order of its own.",
            11,
        ),
        (
            epochs.mean_metrics,
            [fit(each=[epoch(), epoch()]), fit(each=[epoch(), epoch()])],
            "The ranks stop after 2 epochs (2 ranks on one host). Expected: 1.",
            5,
        ),
        (
            epochs.mean_metrics,
            [fit(), fit(reads=[(0, "StopAtAccuracy", "val_accuracy", 0.9)])],
            "Rank 1 (2 ranks on one host): the val_accuracy that StopAtAccuracy reads is neither its own nor the mean. "
            "Expected: the mean of all ranks'.",
            5,
        ),
    ],
)
def test_what_ranks_do_in_an_epoch_is_said_with_what_was_expected_and_the_line(check, fits, message, line):
    assert check(RIGHT, RIGHT, SOURCE) is None
    found = find(check, of(fits), RIGHT, SOURCE)
    assert (found.message, found.line) == (message, line)
