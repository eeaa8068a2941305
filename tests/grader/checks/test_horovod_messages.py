"""What the checks of steps 1 to 6 say: the rank, what it did, what was expected, the line of the script."""

import pytest

from course.internal.stalls import GRADIENTS, METRICS, VARIABLES
from grader.checks.horovod import epochs, ranks, updates
from grader.checks.horovod.fashion_mnist import COUNTED, SHORT_OF_GPUS, VAL_BATCH
from grader.reading import parsing
from grader.terms.facts import ARGUMENTS, Error
from grader.terms.findings import Finding
from grader.terms.runs import Runs
from tests.grader.checks.judged import find
from tests.grader.checks.made_up_horovod import (
    BROADCAST,
    ERROR,
    GRADIENT,
    METRIC,
    SCRIPT,
    WHERE,
    batch,
    epoch,
    fit,
    rank,
    runs,
)

RIGHT = runs(rank(0), rank(1))
BLIND = runs(rank(0, gpus=[]), rank(1, gpus=[]), gpus=False)


@pytest.mark.parametrize(
    ("check", "other", "message", "line"),
    [
        (ranks.initialised, rank(1, order=["model"]), "never initialises Horovod, so it knows of no other rank", 1),
        (
            ranks.initialised,
            rank(1, order=["model"], **ERROR),
            "never initialises Horovod, so it knows of no other rank",
            1,
        ),
        (
            ranks.initialised,
            rank(1, order=["model", "init"], lines={"init": 3}),
            "initialises Horovod only after the model is built. Expected: before",
            3,
        ),
        (ranks.pinned, rank(1, gpus=[0, 1]), "can see GPUs 0 and 1. Expected: GPU 1, by its local rank", 2),
        (ranks.pinned, rank(1, gpus=[]), "can see no GPU. Expected: GPU 1", 2),
        (ranks.memory_grows, rank(1, growth=[]), "takes all memory of GPU 1 at once. Expected: memory growth", 3),
        (ranks.memory_grows, rank(1, growth=[0]), "takes all memory of GPU 1 at once", 3),
        (
            ranks.others_are_silent,
            rank(1, stdout="Epoch 1/3 7.5s"),
            "prints too: “Epoch #/# #s”. Expected: rank 0 alone",
            None,
        ),
        (ranks.others_are_silent, rank(1, stderr="\nbatch 3"), "prints too: “batch #”. Expected: rank 0 alone", None),
        (
            ranks.others_are_silent,
            rank(1, stderr="WARNING:tensorflow:From a.py: f is deprecated.\nInstructions for updating:\nUse g\nloss"),
            "prints too: “loss”",
            None,
        ),
        (ranks.others_are_silent, rank(1, stderr="  rank 1: loss 0.5"), "prints too: “rank #: loss #”", None),
        (ranks.others_are_silent, rank(1, stderr="2026-11-23 12:00:00,123 loss"), "prints too", None),
        (ranks.others_are_silent, rank(1, stderr="[loss"), "prints too: “[loss”", None),
        (ranks.same_work, rank(1, fits=[fit(log_dirs=["logs/1"])]), "writes TensorBoard's logs, too", 5),
        (ranks.same_work, rank(1, fits=[fit(steps=1)]), "has steps_per_epoch=1, and rank 0 4. Expected", 7),
        (
            ranks.same_work,
            rank(1, fits=[fit(each=[epoch(), epoch()])]),
            "trains for 2 epochs, and rank 0 for 1. Expected: 1, on all ranks.",
            6,
        ),
        (ranks.same_work, rank(1, fits=[]), "ends without training. Expected: all ranks train", 6),
        (
            ranks.same_work,
            rank(1, fits=[fit(callbacks=[])]),
            "trains without StopAtAccuracy, which rank 0 has. Expected: on all ranks",
            5,
        ),
        (ranks.same_work, rank(1, fits=[fit(each=[epoch(4, 0)])]), "never validates, and rank 0 does", 6),
        (
            epochs.training_steps,
            rank(1, fits=[fit(each=[epoch(9)])]),
            "takes 9 steps per epoch. Expected: 4, its share of the 8 batches",
            7,
        ),
        (epochs.training_steps, rank(1, fits=[fit(each=[epoch(1)])]), "takes 1 step per epoch", 7),
        (
            epochs.training_steps,
            rank(1, fits=[fit(steps=9)]),
            "steps per epoch (2 ranks on one host): rank 0 takes 4, rank 1 takes 9. Expected: the same number",
            7,
        ),
        (
            epochs.validation_steps,
            rank(1, fits=[fit(each=[epoch(4, 6)])]),
            "takes 6 validation steps. Expected: 9, its share of the 18 batches of three passes",
            8,
        ),
        (
            epochs.mean_metrics,
            rank(1, fits=[fit(each=[epoch(own=0.7)], reads=[(0, "StopAtAccuracy", "val_accuracy", 0.7)])]),
            "the val_accuracy that StopAtAccuracy reads is its own. Expected: the mean of all ranks'",
            5,
        ),
        (epochs.mean_metrics, rank(1, fits=[fit(reads=[])]), "no callback reads val_accuracy any more", 5),
        (
            epochs.mean_metrics,
            rank(1, fits=[fit(each=[epoch(), epoch()])]),
            "different numbers of epochs (2 ranks on one host): rank 0 after 1, rank 1 after 2. Expected: the same",
            5,
        ),
        (updates.same_weights, rank(1, fits=[fit(batches=[batch([9.0])])]), "still starts from its own weights", 5),
    ],
)
def test_what_a_rank_did_is_said_with_what_was_expected_and_the_line(check, other, message, line):
    assert check(RIGHT, RIGHT, SCRIPT) is None
    found = find(check, runs(rank(0), other), RIGHT, SCRIPT)
    assert message in found.message and found.line == line and type(found) is Finding
    assert "Rank 1 (2 ranks on one host)" in found.message or "rank 1" in found.message or "reads is" in found.message


def test_rank_0_that_reports_nothing_is_named():
    found = find(ranks.rank_0_reports, runs(rank(0, [fit(0)], stdout=""), rank(1)), RIGHT, SCRIPT)
    assert found.message.startswith("Rank 0 (2 ranks on one host) reports nothing. Expected: the progress of training")
    assert found.line == 4


def test_a_program_that_fails_without_gpus_alone_fails_that_check():
    fails = runs(rank(0, [], ["init"], [], **ERROR), rank(1, [], ["init"], [], **ERROR), gpus=False)
    both = Runs(RIGHT.clusters | fails.clusters)
    expected = Runs(RIGHT.clusters | BLIND.clusters)
    assert ranks.without_gpus(expected, expected, SCRIPT) is None
    found = ranks.without_gpus(both, expected, SCRIPT)
    assert (
        "builds no model: ValueError: odd. Expected: the program runs there as it does on hosts with GPUs"
        in found.message
    )
    assert (found.line, found.explains) == (3, True)


SHORT = {"cluster": SHORT_OF_GPUS.description}
GUARDED = parsing.read(
    "if gpus:\n"
    '    assert len(gpus) >= hvd.local_size(), "too few"\n'
    "    if len(gpus) < hvd.local_size():\n"
    '        raise TooFewGpus(\n            "too few")\n'
    "    tf.config.set_visible_devices(gpus[hvd.local_rank()])\n"
)


def short(*ranks, of=RIGHT):
    """Return the runs of a script that is right, but for these ranks on a host with too few GPUs."""
    for one in ranks:
        one.cluster = SHORT["cluster"]
    return Runs(of.clusters, {"short-of-gpus": list(ranks)})


def ended(number, kind, message, line, **others):
    """Return a rank that an exception ended before it built a model, as facts.read describes it."""
    values = {"error": f"{kind}: {message}", "error_kind": kind, "error_line": line, "exit": 1} | others
    one = rank(number, [], ["init"], [], **values)
    one.facts.error = Error(kind, message, line, "")
    return one


@pytest.mark.parametrize(
    "refused",
    [
        ended(1, "SystemExit", "2 ranks on a host with 1 GPUs", 3),
        ended(1, "SystemExit", "1", 3, stdout="too few GPUs"),
        ended(1, "SystemExit", "1", 3, stderr="too few GPUs"),
        ended(1, ARGUMENTS, "too few GPUs", 3),
        ended(1, "AssertionError", "too few", 2),
        ended(1, "TooFewGpus", "too few", 4),
        rank(1, [], ["init"], [], stdout="too few GPUs", exit=3),  # by os._exit
    ],
)
def test_one_rank_that_says_that_there_are_too_few_gpus_is_enough(refused):
    assert ranks.enough_gpus(short(rank(0), refused), RIGHT, GUARDED) is None


@pytest.mark.parametrize(
    ("other", "message", "line"),
    [
        (rank(1, gpus=[0]), "Rank 1 ({}) sees GPU 0, which is rank 0's, and continues.", 6),
        (rank(1, gpus=[]), "Rank 1 ({}) sees no GPU, and continues.", 6),
        (ended(1, "IndexError", "list index out of range", 6), "Rank 1 ({}) fails: IndexError: list index", 6),
        (ended(1, "IndexError", "list index out of range", 4), "Rank 1 ({}) fails: IndexError: list index", 4),
        (ended(1, "AssertionError", "", 2), "Rank 1 ({}) fails: AssertionError: . Expected", 2),
        (ended(1, "SystemExit", "1", 3), "Rank 1 ({}) fails: SystemExit: 1.", 3),
        (rank(1, [], ["init"], [], ended_for="stall"), "Rank 1 ({}) does not end.", 6),
        (rank(1, [], ["init"], [], exit=3), "Rank 1 ({}) ends with exit status 3 and no message.", 6),
        (
            rank(1, [], ["init"], [], stdout="too few", lines={"exit": 5}),
            "Rank 1 ({}) ends with exit status 0, as after success.",
            5,
        ),
    ],
)
def test_ranks_that_are_too_many_for_a_host_s_gpus_have_to_say_so(other, message, line):
    found = find(ranks.enough_gpus, short(rank(0), other), RIGHT, GUARDED)
    assert found.message.startswith(message.format(SHORT["cluster"])) and found.line == line
    assert found.message.endswith("Expected: an error with a message of its own, that the host has too few GPUs.")


def test_a_program_that_ends_where_there_are_gpus_enough_is_told_where():
    mine = short(*(ended(number, "SystemExit", "2 ranks, 1 GPUs", 3) for number in range(2)))
    mine.clusters = {"one-host": [ended(number, "SystemExit", "1 ranks, 2 GPUs", 3) for number in range(2)]}
    found = ranks.enough_gpus(mine, RIGHT, GUARDED)
    assert found.message == (
        "Rank 0 (2 ranks on one host) ends: SystemExit: 1 ranks, 2 GPUs. "
        "Expected: it trains, as its host has a GPU for each of its ranks."
    )
    assert (found.line, found.explains) == (3, True)


def test_a_program_that_ends_everywhere_shows_nothing_of_its_gpus():
    mine = short(*(ended(number, "SystemExit", "odd", 3) for number in range(2)))
    everywhere = [ended(number, "SystemExit", "odd", 3, cluster=WHERE) for number in range(2)]
    blind = [ended(number, "SystemExit", "odd", 3, cluster="2 ranks without GPUs") for number in range(2)]
    mine.clusters = {"one-host": everywhere, "three-ranks": blind}
    found = ranks.enough_gpus(mine, Runs(RIGHT.clusters | BLIND.clusters), GUARDED)
    assert found.message.startswith("Not checked") and "before it knows how many GPUs there are" in found.message


def test_a_program_that_is_ended_before_shows_nothing_of_too_few_gpus():
    found = ranks.enough_gpus(RIGHT, RIGHT, GUARDED)
    assert found.message == "Not checked: the program had to be ended before it ran on 3 ranks on one host with 2 GPUs."


def test_a_gpu_that_a_host_does_not_have_is_a_wrong_choice():
    mine = runs(rank(0), ended(1, "IndexError", "list index out of range", 6))
    found = ranks.pinned(mine, RIGHT, GUARDED)
    assert found.message == (
        "Rank 1 (2 ranks on one host) fails: IndexError: list index out of range. "
        "Expected: it takes GPU 1, by its local rank."
    )
    assert (found.line, found.explains) == (6, True)


def stuck(number, collective, **others):
    return rank(number, [fit(int(not number), **others)], ended_for="stall", collective=collective, exit=-9)


def test_a_broadcast_that_one_rank_lacks_is_step_4_s():
    waiting = stuck(0, BROADCAST, batches=[batch(None)])
    found = find(updates.same_weights, runs(waiting, stuck(1, GRADIENT, batches=[batch()])), RIGHT, SCRIPT)
    assert f"rank 0 waits in {VARIABLES}; rank 1 never joins it: it waits in {GRADIENTS}" in found.message
    assert (found.line, found.explains) == (5, True)


def test_a_broadcast_that_fails_is_step_4_s_and_says_why():
    error = "FailedPreconditionError: Mismatched BROADCAST root ranks. [Op:HorovodBroadcast] name: "
    fails = [
        rank(number, [fit(batches=[batch(None)])], collective=BROADCAST, error=error, causes=frozenset({"mismatch"}))
        for number in range(2)
    ]
    found = updates.same_weights(runs(*fails), RIGHT, SCRIPT)
    assert f"Rank 0 (2 ranks on one host) fails in {VARIABLES} after the first batch" in found.message
    assert "[Op" not in found.message and "Expected: every rank takes part in one broadcast" in found.message


def test_a_share_of_no_steps_ends_the_program_and_is_step_5_s():
    short, whole = [fit(each=[epoch(2)], steps=2)], runs(rank(0), rank(1))
    mine = runs(rank(0, short), rank(1, short))
    error = "ValueError: Unexpected value for `steps_per_epoch`. Received value is 0."
    fails = [rank(number, [], error=error, causes=frozenset({"no steps"})) for number in range(3)]
    assert not epochs.training_steps(mine, whole, SCRIPT).explains
    found = epochs.training_steps(Runs(mine.clusters | {"three-ranks": fails}), whole, SCRIPT)
    assert "takes 2 steps per epoch. Expected: 4" in found.message and found.explains


def test_an_average_that_one_rank_lacks_is_step_6_s():
    waiting = stuck(0, METRIC, reads=[])
    found = find(epochs.mean_metrics, runs(waiting, stuck(1, GRADIENT)), RIGHT, SCRIPT)
    assert f"rank 0 waits in {METRICS}; rank 1 never joins it: it waits in {GRADIENTS}" in found.message
    assert (found.line, found.explains) == (5, True)


@pytest.mark.parametrize(("each", "found"), [(36, False), (30, False), (4, True)])
def test_ranks_that_validate_on_a_few_images_again_and_again(each, found):
    test_set = [f"{number / 48:.4f}" for number in range(COUNTED.test_batches * VAL_BATCH)]
    shown = [epoch(steps) for steps in (4, 4)]
    for number, one in enumerate(shown):
        own = test_set[-each:] if number else test_set[:each]
        one.validation_images = (own * len(test_set))[: 9 * VAL_BATCH]
    repeated = epochs.validation_steps(
        runs(*(rank(number, [fit(each=[one])]) for number, one in enumerate(shown))), RIGHT, SCRIPT
    )
    assert bool(repeated) == found and (
        not found or "validate on 8 images (2 ranks on one host), again and again" in repeated.message
    )
