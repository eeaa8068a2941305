"""The checks of step 15, on made-up facts: what each one says of a script that lacks what is asked for."""

import math

import pytest

from grader.checks import parameter_server as checks
from grader.terms.clusters import BATCH, TRAIN_IMAGES
from grader.terms.facts import Input, Progress, Save
from grader.terms.findings import Unclear
from grader.terms.runs import Runs
from tests.grader.checks.made_up import rows
from tests.grader.checks.made_up_coordinator import (
    COORDINATOR,
    ORDERED,
    WHERE,
    chief,
    disk,
    ended_early,
    fit,
    other,
    solved,
)

LATE = {"strategy": 30, "tf_config": 40}
SERVER = {"server": 15, "tf_config": 40}
ENDS = Input([2, 1], ORDERED, ORDERED[::-1])
SEEDED = Input([2, 1], ORDERED + ORDERED[::-1], ORDERED + ORDERED[::-1])
UNTRAINED = [Save("/left/checkpoints/after-2", 12), Save("/left/model.keras", 0)]
AGAIN = "The coordinator was killed in epoch 2 and started again: "
WRONG = {
    checks.tf_config: [
        (chief(order=["strategy", "fit"]), 30, "makes a strategy on line 30, and never calls tf_config.check()."),
        (chief(order=["strategy", "tf_config", "fit"], lines=LATE), 40, "calls tf_config.check() on line 40 only"),
        (chief(order=["server", "tf_config"], lines=SERVER), 15, "starts a server on line 15, which takes its port"),
    ],
    checks.role: [
        (ended_early, 25, f"{WHERE} exits on line 25: not the chief. Expected: it does its work"),
        (other(1, order=["tf_config", "strategy"], lines=LATE), 30, "of a parameter server, the script makes a str"),
        (other(0, ended_for="time"), None, "Started with the TF_CONFIG of a worker, the script does not end."),
    ],
    checks.gpus: [(chief(gpus=[0, 1]), 2, "can see GPU 0, 1 when it starts to work, which the workers need.")],
    checks.strategy: [
        (chief(strategies=[]), 30, f"{WHERE} makes no ParameterServerStrategy."),
        (chief(parts=[(256, 1), (512, 1), (8192, 1)]), 3, "a variable of 512 KiB into 1 part. Expected: 2 parts"),
        (chief(parts=[(256, 1), (512, 2), (8192, 2)]), 3, "a variable of 8192 KiB into 2 parts. Expected: 3 parts"),
        (chief(parts=[(256, 1)]), 3, "the strategy's partitioner fails."),
        (chief(order=["strategy", "server"], lines={"server": 35}), 35, "starts a tf.distribute.Server on line 35."),
    ],
    checks.batch_size: [
        (fit(input=Input([2, 2], ORDERED, ORDERED)), 5, "context of 2 replicas, the input function makes batches of 2"),
        (fit(input=Input([1, 1], ORDERED, ORDERED)), 5, "context of 1 replica, the input function makes batches of 1"),
    ],
    checks.images: [
        (fit(input=Input([2, 1], [1, 2, 2, 1] * 10, [1, 2, 2, 1] * 10)), None, "makes 2 of the 13 images. Expected"),
        (fit(input=ENDS), 7, "the input function makes 13 images and then ends. Expected: it repeats them."),
        (fit(input=Input([2, 1], ORDERED * 3, ORDERED * 3)), 8, "each pass over the images has the same order."),
        (fit(seed=7), None, "the global seed is 7, so all workers get the same images in the same order."),
        (fit(input=SEEDED), None, "the images are shuffled with a seed, so all workers get the same images"),
        (fit(input=Input([], [], [])), 90, f"{WHERE}: the input function makes no data."),
    ],
    checks.scope: [
        (fit(strategy="_DefaultDistributionStrategy"), 50, "trains a model that is not on the parameter servers."),
        (fit(places=["chief"], in_parts=[]), 50, "the model's variables are on chief, 0 of them in parts."),
        (fit(places=[], in_parts=[]), 50, "the model's variables are on no task of the cluster, 0 of them in parts."),
    ],
    checks.backup: [
        (fit(begin=Progress([1.0], 0)), 4, f"{AGAIN}training begins at step 0. Expected: step 6"),
        (fit(begin=Progress([1.0], 0)), 4, "--log-dir had: backup, checkpoints and tensorboard."),
        (chief(found=disk("saved/chief/checkpoint")), 4, f"{AGAIN}it resumes, but not from the folder backup in"),
        (fit(epochs=[6, 6]), 4, f"{AGAIN}it trains 2 epochs. Expected: 1 more."),
    ],
    checks.creator: [(fit(data="PrefetchDataset"), 90, "fit() is given an object of the class PrefetchDataset.")],
    checks.unchanged: [
        (fit(steps_per_epoch=3), 6, "fit() is given steps_per_epoch=3. Expected: 6, the number of batches."),
        (fit(steps_per_epoch=None), 6, "fit() is given no steps_per_epoch. Expected: 6, the number of batches."),
        (chief(left=disk("checkpoints/after-2.index")), 4, "checkpoints/after-1 is not in --log-dir."),
        (chief(saved=[]), 9, "does not save the trained model. Expected: model.save after fit."),
        (chief(saves=UNTRAINED), 9, "saves a model with 0 steps behind it. Expected: the trained one."),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "line", "message"), rows(WRONG))
def test_what_is_wrong_is_said_with_its_line(check, change, line, message):
    assert COORDINATOR.fails(check, change, message).line == line


@pytest.mark.parametrize("error", [None, "CancelledError: The function is cancelled."])
def test_data_that_do_not_repeat_explain_why_a_training_fails(error):
    assert COORDINATOR.find(checks.images, fit(input=ENDS), chief(error=error)).explains == bool(error)


def test_data_that_do_not_repeat_run_out_whichever_worker_takes_how_many_batches():
    left = checks.EPOCHS - checks.KILLED_IN + 1
    assert left * checks.BATCHES > checks.WORKERS * math.ceil(TRAIN_IMAGES / BATCH)


def silent(runs):
    runs.traffic = 10


def test_a_training_that_hardly_communicates_needs_a_person():
    found = COORDINATOR.find(checks.scope, silent)
    assert type(found) is Unclear and "their host saw them exchange hardly any data" in found.message
    assert COORDINATOR.find(checks.scope, silent, chief(error="ValueError: no")) is None


def test_a_coordinator_that_is_never_started_again_is_not_judged():
    right = solved()
    killed = Runs({}, {"killed": right.reserved["killed"]})
    outcomes, explained = checks.part.compare(15, killed, right, COORDINATOR.source)
    assert {outcome.status for outcome in outcomes} == {"skipped"} and not explained
