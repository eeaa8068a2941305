"""The checks of steps 1 to 6, on made-up runs in which every rank's gradient is known."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from grader.checks.horovod import epochs, updates
from grader.checks.horovod import ranks as horovod_ranks
from grader.reading import parsing
from grader.report import figures
from grader.runner import synthetic_data
from grader.terms.facts import Batch, Fit, HorovodFacts, State
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import Rank, Runs
from tests.grader.checks.made_up import MadeUp, find, of, rows

NOTHING = parsing.read("pass")
SOURCE = parsing.read(
    "opt = DistributedOptimizer(SGD())\n"  # 1
    "model.compile(optimizer=opt, loss_weights=[2.0])\n"  # 2
    "callbacks = [BroadcastGlobalVariablesCallback(0)]\n"  # 3
    "model.fit(\n    callbacks=callbacks,\n)\n"
)
SPREAD = 0.1  # of the gradients: those of ranks with images of their own are further apart
vectors = st.lists(st.floats(-10, 10, width=32), min_size=4, max_size=4)


def fit(batches, built):
    """Return what a rank of such batches says of model.fit."""
    return Fit(
        verbose=0,
        optimizer={"kind": "SGD"},
        callbacks=[],
        loss_weights=[],
        steps_per_epoch=None,
        log_dirs=[],
        weights_built=built,
        initial_epoch=0,
        begin=State(built, [], 0, []),
        batches=batches,
    )


def trained(gradients, update, start=None, rate=0.01) -> Runs:
    """Return a run of a batch, in which each rank has a gradient and applies what update makes of all of them."""
    ranks = []
    for rank, gradient in enumerate(gradients):
        before = np.array(start[rank] if start else [1.0, 2.0, 3.0, 4.0])
        updated = before - rate * np.array(update(rank))
        batch = Batch(rate, list(before), list(gradient), list(updated), list(updated), [0.0] * 4)
        facts = HorovodFacts(fits=[fit([batch], list(before))])
        ranks.append(Rank(rank, 0, f"Rank {rank}", "made up", 0, None, "", "", "", facts, reported=True))
    return Runs({"one-host": ranks}, traffic=1000)


several = st.lists(vectors, min_size=2, max_size=5).filter(
    lambda gradients: (
        np.ptp(np.array(gradients), axis=0).max() > max(1, 2 * SPREAD * np.abs(gradients).max())
        and np.abs(np.sum(gradients, axis=0)).max() > 1
    )
)


@given(several)
def test_the_mean_of_all_gradients_is_right_and_nothing_else_is(gradients):
    mean, total = np.mean(gradients, axis=0), np.sum(gradients, axis=0)
    right = trained(gradients, lambda rank: mean)
    assert updates.mean_gradient(right, right, NOTHING) is None
    summed = updates.mean_gradient(trained(gradients, lambda rank: total), right, NOTHING)
    assert "the sum of their gradients" in summed.message
    own = updates.mean_gradient(trained(gradients, lambda rank: gradients[rank]), right, NOTHING)
    assert "its own gradient" in own.message


@given(several)
def test_what_the_host_did_not_see_is_no_pass(gradients):
    mean = np.mean(gradients, axis=0)
    right, claimed = trained(gradients, lambda rank: mean), trained(gradients, lambda rank: mean)
    claimed.traffic = 10
    assert isinstance(updates.mean_gradient(claimed, right, NOTHING), Unclear)


@given(several)
def test_other_weights_on_any_rank_are_found(gradients):
    mean = np.mean(gradients, axis=0)
    runs = trained(gradients, lambda rank: mean)
    assert updates.same_weights(runs, runs, NOTHING) is None
    apart = trained(gradients, lambda rank: mean, start=[[1.0, 2.0, 3.0, 4.0 + rank] for rank in range(len(gradients))])
    assert "own weights" in updates.same_weights(apart, runs, NOTHING).message


@given(several, st.floats(1e3, 1e6))
def test_a_term_that_lifts_all_gradients_hides_no_difference_between_them(gradients, lift):
    lifted = [[value + lift for value in gradient] for gradient in gradients]
    right = trained(gradients, lambda rank: np.mean(gradients, axis=0))
    own = updates.mean_gradient(trained(lifted, lambda rank: lifted[rank]), right, NOTHING)
    assert own is not None and not isinstance(own, Unclear)


@given(
    st.sets(st.integers(0, 17), min_size=4),
    st.floats(0.002, 3),
    st.floats(-5, 5),
    st.lists(st.floats(-0.1, 0.1), min_size=40, max_size=40),
)
def test_images_are_told_apart_however_they_are_scaled_and_shifted(shown, scale, offset, noise):
    greys = [float(synthetic_data._grey(number, 60).mean()) for number in sorted(shown)] * 2
    seen = [f"{scale * (grey + blur) + offset:.4f}" for grey, blur in zip(greys, noise, strict=False)]
    assert epochs._different(seen) == len(shown)


def test_a_training_of_no_epochs_is_no_pass_and_no_fault_of_the_grader():
    runs = trained([[1.0] * 4] * 2, lambda rank: [1.0] * 4)
    for rank in runs.ranks():
        rank.facts.fits[0].verbose, rank.facts.fits[0].batches = int(not rank.number), []
    runs.clusters["one-host"][0].stdout = "Test accuracy"
    assert isinstance(horovod_ranks.rank_0_reports(runs, runs, NOTHING), Untold)
    assert figures.draw("weight_distance", runs) == ""


GRADIENTS, MEAN = [[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]], [2.5] * 4


@pytest.mark.parametrize(
    ("update", "rate", "message"),
    [
        (MEAN, 0.02, "The learning rate of rank 0 is 0.02 (made up). Expected: 0.01, as before."),
        ([9.0, 0.0, 0.0, 0.0], 0.01, "The ranks apply the same update, but not the mean of their gradients (made up)."),
        (
            [1.25] * 4,
            0.01,
            "In one step, all ranks apply 0.5 times the mean gradient at the rate of 0.01 (made up). Expected: 1 time",
        ),
        ([0.0] * 4, 0.01, "The ranks leave their weights as they are in a step of the training (made up)."),
        (
            None,
            0.01,
            "The ranks apply different updates (made up). Expected: the mean of all ranks' gradients",
        ),
    ],
)
def test_an_update_that_is_not_the_mean_is_described_with_its_line(update, rate, message):
    right = trained(GRADIENTS, lambda rank: MEAN)
    runs = trained(GRADIENTS, lambda rank: update or [2.5 * (1 + rank)] * 4, rate=rate)
    found = find(updates.mean_gradient, runs, right, SOURCE)
    assert type(found) is Finding and message in found.message and found.line == 1


def test_the_learning_rate_of_one_rank_alone_is_named():
    right = trained(GRADIENTS, lambda rank: MEAN)
    runs = trained(GRADIENTS, lambda rank: [2.5 * (1 + rank)] * 4)
    of_batches(0, rate=0.02)(runs)
    message = updates.mean_gradient(runs, right, SOURCE).message
    assert message == "The learning rate of rank 1 is 0.02 (made up). Expected: 0.01, as before."


def two_batches():
    """Return the runs of a script that averages, of two batches."""
    runs = trained(GRADIENTS, lambda rank: MEAN)
    for rank in runs.ranks():
        rank.facts.fits[0].batches *= 2
    return runs


TWO_BATCHES = MadeUp(two_batches, SOURCE)


def of_batches(*numbers, ranks=(1,), **values):
    """Return a change of some batches of ranks."""

    def change(runs):
        for rank, number in product(ranks, numbers):
            batches = runs.clusters["one-host"][rank].facts.fits[0].batches
            batches[number] = replace(batches[number], **values)

    return change


OTHER, APART, CALLBACK = [9.0] * 4, of_batches(0, 1, after=[9.0] * 4), ["BroadcastGlobalVariablesCallback"]
WRONG = {
    updates.mean_gradient: [
        (of("one-host", optimizer={"kind": "Adam"}), 1, "The optimizer's kind is Adam. Expected: SGD, as before."),
        (of("one-host", loss_weights=[2.0]), 2, "The loss is weighted with 2. Expected: as before."),
    ],
    updates.same_weights: [
        (of_batches(1, slots=OTHER), 3, "has the weights of rank 0, but not its optimizer's variables."),
        (of_batches(0, 1, ranks=(0, 1), after=OTHER), 3, "All ranks hold the same weights, but not those of rank 0"),
        (of_batches(1, after=OTHER), 3, "Rank 1 (made up) holds rank 0's weights at first, and others after batch 2."),
        ((APART, of("one-host", 0, callbacks=CALLBACK)), 3, "the list that model.fit gets there lacks the callback."),
        (APART, 3, "still starts from its own weights: the callback is made but never reaches model.fit."),
        ((APART, of("one-host", callbacks=CALLBACK)), 3, "Rank 1 (made up) still starts from its own weights. Exp"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "line", "message"), rows(WRONG))
def test_what_differs_from_rank_0_or_from_the_solution_is_named_with_its_line(check, change, line, message):
    assert TWO_BATCHES.find(check) is None
    assert TWO_BATCHES.fails(check, change, message).line == line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_batches(1, local=None), "Needs manual review: the judge sees no gradient in a training step."),
        (of("one-host", 1, batches=[]), "Not checked: Rank 1 (made up) does not reach training."),
    ],
)
def test_gradients_that_were_never_seen_are_no_pass(change, message):
    assert TWO_BATCHES.find(updates.mean_gradient, change).message == message
