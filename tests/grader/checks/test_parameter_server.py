"""The checks of step 15, on made-up facts: what each one says, and what it leaves open."""

import math

import pytest

from grader.checks import parameter_server as checks
from grader.terms.clusters import BATCH, TRAIN_IMAGES
from grader.terms.facts import Input, Progress, Save
from grader.terms.findings import Unclear
from grader.terms.runs import Runs
from tests.grader.checks.made_up_coordinator import (
    ORDERED,
    SOURCE,
    WHERE,
    chief,
    disk,
    ended_early,
    fact,
    fit,
    found,
    other,
    solved,
)

ALL = [check.judge for check in checks.part.checks]


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_the_solution_passes(check):
    assert found(check) is None


@pytest.mark.parametrize(
    ("check", "change", "message", "line"),
    [
        (
            checks.tf_config,
            fact(order=["strategy", "fit"]),
            f"{WHERE} makes a strategy on line 30, and never calls tf_config.check(). Expected: a call before that.",
            30,
        ),
        (
            checks.tf_config,
            fact(order=["strategy", "tf_config", "fit"], lines={"strategy": 30, "tf_config": 40}),
            f"{WHERE} makes a strategy on line 30, and calls tf_config.check() on line 40 only then. "
            "Expected: a call before that.",
            40,
        ),
        (
            checks.tf_config,
            fact(order=["server", "tf_config"], lines={"server": 15, "tf_config": 40}),
            f"{WHERE} starts a server on line 15, which takes its port, and calls tf_config.check() on line 40 only "
            "then. Expected: no server in this program.",
            15,
        ),
        (
            checks.role,
            ended_early,
            f"{WHERE} exits on line 25: not the chief. Expected: it does its work, since TF_CONFIG says that it is the "
            "chief.",
            25,
        ),
        (
            checks.role,
            other(1, order=["tf_config", "strategy"], lines={"strategy": 30}),
            "Started with the TF_CONFIG of a parameter server, the script makes a strategy on line 30. Expected: it "
            "ends before that, since it is not the chief.",
            30,
        ),
        (
            checks.role,
            other(0, ended_for="time"),
            "Started with the TF_CONFIG of a worker, the script does not end. Expected: it ends at once, since it is "
            "not the chief.",
            None,
        ),
        (
            checks.gpus,
            fact(gpus=[0, 1]),
            f"{WHERE} can see GPU 0, 1 when it starts to work, which the workers need. Expected: none.",
            2,
        ),
        (
            checks.strategy,
            fact(strategies=[]),
            f"{WHERE} makes no ParameterServerStrategy. Expected: one, made from the resolver.",
            30,
        ),
        (
            checks.strategy,
            fact(parts=[(256, 1), (512, 1), (8192, 1)]),
            f"{WHERE}: the partitioner cuts a variable of 512 KiB into 1 part. Expected: 2 parts, as there is at "
            "most one per server (3 here) and none is below 256 KiB.",
            3,
        ),
        (
            checks.strategy,
            fact(parts=[(256, 1), (512, 2), (8192, 2)]),
            f"{WHERE}: the partitioner cuts a variable of 8192 KiB into 2 parts. Expected: 3 parts, as there is at "
            "most one per server (3 here) and none is below 256 KiB.",
            3,
        ),
        (
            checks.strategy,
            fact(parts=[(256, 1)]),
            f"{WHERE}: the strategy's partitioner fails. Expected: it cuts a variable of any size.",
            3,
        ),
        (
            checks.strategy,
            fact(order=["tf_config", "strategy", "server"], lines={"server": 35}),
            f"{WHERE} starts a tf.distribute.Server on line 35. Expected: none: workers and servers have a program of "
            "their own.",
            35,
        ),
        (
            checks.batch_size,
            fit(input=Input([2, 2], ORDERED, ORDERED)),
            f"{WHERE}: with --batch-size 2, and a context of 2 replicas, the input function makes batches of 2 images. "
            "Expected: 1, as context.get_per_replica_batch_size() returns.",
            5,
        ),
        (
            checks.batch_size,
            fit(input=Input([1, 1], ORDERED, ORDERED)),
            f"{WHERE}: with --batch-size 2, and a context of 1 replica, the input function makes batches of 1 image. "
            "Expected: 2, as context.get_per_replica_batch_size() returns.",
            5,
        ),
        (
            checks.images,
            fit(input=Input([2, 1], [1, 2, 2, 1] * 10, [1, 2, 2, 1] * 10)),
            f"{WHERE}: the input function makes 2 of the 13 images. Expected: all of them.",
            None,
        ),
        (
            checks.images,
            fit(input=Input([2, 1], ORDERED, ORDERED[::-1])),
            f"{WHERE}: the input function makes 13 images and then ends. Expected: it repeats them.",
            7,
        ),
        (
            checks.images,
            fit(input=Input([2, 1], ORDERED * 3, ORDERED * 3)),
            f"{WHERE}: each pass over the images has the same order. Expected: another order in each pass.",
            8,
        ),
        (
            checks.images,
            fit(seed=7),
            f"{WHERE}: the global seed is 7, so all workers get the same images in the same order. Expected: no seed, "
            "and an order of its own for each.",
            None,
        ),
        (
            checks.images,
            fit(input=Input([2, 1], ORDERED + ORDERED[::-1], ORDERED + ORDERED[::-1])),
            f"{WHERE}: the images are shuffled with a seed, so all workers get the same images in the same order. "
            "Expected: no seed, and an order of its own for each.",
            None,
        ),
        (
            checks.scope,
            fit(strategy="_DefaultDistributionStrategy"),
            f"{WHERE} trains a model that is not on the parameter servers. Expected: one that is made and compiled "
            "under strategy.scope().",
            50,
        ),
        (
            checks.scope,
            fit(places=["chief"], in_parts=[]),
            f"{WHERE}: the model's variables are on chief, 0 of them in parts. Expected: on ps, 1 in parts.",
            50,
        ),
        (
            checks.scope,
            fit(places=[], in_parts=[]),
            f"{WHERE}: the model's variables are on no task of the cluster, 0 of them in parts. Expected: on ps, 1 in "
            "parts.",
            50,
        ),
        (
            checks.backup,
            fit(begin=Progress([1.0], 0)),
            "The coordinator was killed in epoch 2 and started again: training begins at step 0. Expected: step 6, "
            "from a backup made after epoch 1. When it was started again, --log-dir had: backup, checkpoints "
            "and tensorboard.",
            4,
        ),
        (
            checks.backup,
            chief(found=disk("saved/chief/checkpoint")),
            "The coordinator was killed in epoch 2 and started again: it resumes, but not from the folder "
            "backup in --log-dir. Expected: a backup there. When it was started again, --log-dir had: saved.",
            4,
        ),
        (
            checks.backup,
            fit(epochs=[6, 6]),
            "The coordinator was killed in epoch 2 and started again: it trains 2 epochs. Expected: 1 more.",
            4,
        ),
        (
            checks.creator,
            fit(data="PrefetchDataset"),
            f"{WHERE}: fit() is given an object of the class PrefetchDataset. Expected: a DatasetCreator.",
            90,
        ),
        (
            checks.unchanged,
            fit(steps_per_epoch=3),
            f"{WHERE}: fit() is given steps_per_epoch=3. Expected: 6, the number of batches.",
            6,
        ),
        (
            checks.unchanged,
            fit(steps_per_epoch=None),
            f"{WHERE}: fit() is given no steps_per_epoch. Expected: 6, the number of batches.",
            6,
        ),
        (
            checks.unchanged,
            chief(left=disk("checkpoints/after-2.index")),
            "After the training, checkpoints/after-1 is not in --log-dir. Expected: a checkpoint after each epoch.",
            4,
        ),
        (
            checks.unchanged,
            fact(saved=[]),
            f"{WHERE} does not save the trained model. Expected: model.save after fit.",
            9,
        ),
        (
            checks.unchanged,
            fact(saves=[Save("/left/checkpoints/after-2", 12), Save("/left/model.keras", 0)]),
            f"{WHERE} saves a model with 0 steps behind it. Expected: the trained one.",
            9,
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(check, change, message, line):
    outcome = next(each for each in checks.part.checks if each.judge is check).decide(found(check, change), SOURCE)
    assert (outcome.message, outcome.line, outcome.status) == (message, line, "failed")


def test_a_function_that_makes_nothing_fails():
    assert found(checks.images, fit(input=Input([], [], []))).seen == f"{WHERE}: the input function makes no data"


@pytest.mark.parametrize("error", [None, "CancelledError: The function is cancelled."])
def test_data_that_do_not_repeat_explain_why_a_training_fails(error):
    def ends(runs, facts):
        fit(input=Input([2, 1], ORDERED, ORDERED[::-1]))(runs, facts)
        chief(error=error)(runs, facts)

    assert found(checks.images, ends).explains == bool(error)


def test_data_that_do_not_repeat_run_out_whichever_worker_takes_how_many_batches():
    left = checks.EPOCHS - checks.KILLED_IN + 1
    assert left * checks.BATCHES > checks.WORKERS * math.ceil(TRAIN_IMAGES / BATCH)


def test_a_training_that_hardly_communicates_needs_a_person():
    def silent(runs, facts):
        runs.traffic = 10

    finding = found(checks.scope, silent)
    assert type(finding) is Unclear


def test_a_training_that_fails_may_hardly_communicate():
    def failed(runs, facts):
        runs.traffic = 10
        runs.clusters["restarted"][0].error = "ValueError: no"

    assert found(checks.scope, failed) is None


def test_a_coordinator_that_is_never_started_again_is_not_judged():
    right = solved()
    outcomes, explained = checks.part.compare(15, Runs({}, {"killed": right.reserved["killed"]}), right, SOURCE)
    assert {outcome.status for outcome in outcomes} == {"skipped"} and not explained
