"""What the checks of steps 1 to 6 say: the rank, what it did, what was expected, the line of the script."""

import pytest

from course.internal.stalls import GRADIENTS, METRICS, VARIABLES
from grader.checks.horovod import epochs, ranks, updates
from grader.checks.horovod.fashion_mnist import COUNTED, ONE_GPU_EACH, SHORT_OF_GPUS, VAL_BATCH
from grader.reading import parsing
from grader.terms.facts import ARGUMENTS, Error
from grader.terms.runs import Runs
from tests.grader.checks.made_up import find, rows
from tests.grader.checks.made_up_horovod import (
    BROADCAST,
    ERROR,
    GRADIENT,
    HOROVOD,
    METRIC,
    SCRIPT,
    WHERE,
    batch,
    epoch,
    first,
    fit,
    fitted,
    rank,
    runs,
    second,
)

RIGHT = HOROVOD.solved()
BLIND = runs(rank(0, gpus=[]), rank(1, gpus=[]), gpus=False)
DEPRECATED = "WARNING:tensorflow:From a.py: f is deprecated.\nInstructions for updating:\nUse g\nloss"


def of_images(count):
    """Return an epoch of 4 steps into which so many images go."""
    made = epoch()
    made.images = (made.images + epoch(9).images)[:count]
    return made


def reading(value, own=0.5):
    """Return a change of the accuracy that the callback reads on rank 1."""
    return fitted(each=[epoch(own=own)], reads=[(0, "StopAtAccuracy", "val_accuracy", value)])


SAME, TWO = [epoch()], [epoch(), epoch()]
WRONG = {
    ranks.initialised: [
        (second(order=["model"]), 1, "never initialises Horovod, so it knows of no other rank"),
        (second(order=["model"], **ERROR), 1, "never initialises Horovod, so it knows of no other rank"),
        (second(order=["model", "init"], lines={"init": 3}), 3, "only after the model is built. Expected: before"),
    ],
    ranks.pinned: [
        (second(gpus=[0, 1]), 2, "can see GPUs 0 and 1. Expected: GPU 1, by its local rank"),
        (second(gpus=[]), 2, "can see no GPU. Expected: GPU 1"),
    ],
    ranks.memory_grows: [
        (second(growth=[]), 3, "takes all memory of GPU 1 at once. Expected: memory growth"),
        (second(growth=[0]), 3, "takes all memory of GPU 1 at once"),
    ],
    ranks.rank_0_reports: [
        (first(fits=[fit(0)], stdout=""), 4, "Rank 0 (2 ranks on one host) reports nothing. Expected: the progress"),
    ],
    ranks.others_are_silent: [
        (second(stdout="Epoch 1/3 7.5s"), None, "prints too: “Epoch #/# #s”. Expected: rank 0 alone"),
        (second(stderr="\nbatch 3"), None, "prints too: “batch #”. Expected: rank 0 alone"),
        (second(stderr=DEPRECATED), None, "prints too: “loss”"),
        (second(stderr="  rank 1: loss 0.5"), None, "prints too: “rank #: loss #”"),
        (second(stderr="2026-11-23 12:00:00,123 loss"), None, "prints too"),
        (second(stderr="[loss"), None, "prints too: “[loss”"),
    ],
    ranks.same_work: [
        (fitted(log_dirs=["logs/1"]), 5, "writes TensorBoard's logs, too"),
        (fitted(steps=1), 7, "has steps_per_epoch=1, and rank 0 4. Expected"),
        (fitted(each=TWO), 6, "trains for 2 epochs, and rank 0 for 1. Expected: 1, on all ranks."),
        (second(fits=[]), 6, "ends without training. Expected: all ranks train"),
        (fitted(callbacks=[]), 5, "trains without StopAtAccuracy, which rank 0 has. Expected: on all ranks"),
        (fitted(each=[epoch(4, 0)]), 11, "never validates, and rank 0 does"),
    ],
    updates.same_weights: [
        (fitted(batches=[batch([9.0])]), 5, "still starts from its own weights"),
    ],
    epochs.training_steps: [
        (fitted(each=[epoch(9)]), 7, "takes 9 steps per epoch. Expected: 4 to 5, its share of the 9 batches"),
        (fitted(each=[epoch(1)]), 7, "takes 1 step per epoch"),
        (fitted(steps=9), 7, "rank 0 takes 4, rank 1 takes 9. Expected: the same number"),
        (fitted(each=[of_images(2)]), 7, "trains on 2 images, in 4 steps. Expected: 8 to 10, its share of one pass"),
        (fitted(each=[of_images(20)]), 7, "trains on 20 images, in 4 steps. Expected: 8 to 10, its share of one pass"),
        (fitted(each=[epoch(), of_images(2)]), 7, "Rank 1 (2 ranks on one host), in epoch 2, trains on 2 images, in 4"),
        ((first(fits=[fit(1, SAME)]), fitted(each=SAME)), 11, "All ranks train on the same 8 images (2 ranks on one"),
    ],
    epochs.validation_steps: [
        (fitted(each=[epoch(4, 6)]), 8, "takes 6 validation steps. Expected: 9, its share of the 18 batches of three"),
    ],
    epochs.mean_metrics: [
        (reading(0.7, own=0.7), 5, "the val_accuracy that StopAtAccuracy reads is its own. Expected: the mean of all"),
        (reading(0.9), 5, "the val_accuracy that StopAtAccuracy reads is neither its own nor the mean."),
        (fitted(reads=[]), 5, "no callback reads val_accuracy any more"),
        (fitted(each=TWO), 5, "different numbers of epochs (2 ranks on one host): rank 0 after 1, rank 1 after 2."),
        ((first(fits=[fit(1, TWO)]), fitted(each=TWO)), 5, "The ranks stop after 2 epochs (2 ranks on one host)."),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "line", "message"), rows(WRONG))
def test_what_a_rank_did_is_said_with_what_was_expected_and_the_line(check, change, line, message):
    assert HOROVOD.fails(check, change, message).line == line


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
        ended(1, "SystemExit", "1", 3),
        ended(1, ARGUMENTS, "too few GPUs", 3),
        ended(1, "IndexError", "list index out of range", 6),
        ended(1, "TooFewGpus", "too few", 4),
        rank(1, [], ["init"], [], stdout="too few GPUs", exit=3),  # by os._exit
    ],
)
def test_one_rank_that_ends_with_an_error_where_there_are_too_few_gpus_is_enough(refused):
    assert ranks.enough_gpus(short(rank(0), refused), RIGHT, GUARDED) is None


@pytest.mark.parametrize(
    ("other", "message", "line"),
    [
        (rank(1, gpus=[0]), "Rank 1 ({}) sees GPU 0, which is rank 0's, and continues.", 6),
        (rank(1, gpus=[]), "Rank 1 ({}) sees no GPU, and continues.", 6),
        (rank(1, [], ["init"], [], ended_for="stall"), "Rank 1 ({}) does not end.", 6),
        (
            rank(1, [], ["init"], [], stdout="too few", lines={"exit": 5}),
            "Rank 1 ({}) ends with exit status 0, as after success.",
            5,
        ),
    ],
)
def test_ranks_that_are_too_many_for_a_host_s_gpus_have_to_end_with_an_error(other, message, line):
    found = find(ranks.enough_gpus, short(rank(0), other), RIGHT, GUARDED)
    assert found.message.startswith(message.format(SHORT["cluster"])) and found.line == line
    assert found.message.endswith("Expected: an error, since the host has too few GPUs.")


@pytest.mark.parametrize(
    ("other", "hidden"),
    [
        (rank(1, gpus=[0]), False),
        (rank(1, gpus=[]), True),
        (ended(1, "IndexError", "list index out of range", 6), False),
    ],
)
def test_a_rank_that_is_shown_one_gpu_takes_it_or_ends_with_an_error(other, hidden):
    other.cluster = ONE_GPU_EACH.description
    found = ranks.pinned(Runs(RIGHT.clusters, {ONE_GPU_EACH.name: [rank(0), other]}), RIGHT, GUARDED)
    assert bool(found) == hidden


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
    test_set = [f"{number / 48:.4f}" for number in range(COUNTED.test_images)]
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
