"""The checks of steps 1 to 6, on made-up runs in which every rank's gradient is known."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader.checks.horovod import epochs, updates
from grader.checks.horovod import ranks as horovod_ranks
from grader.facts import Batch, Fit, HorovodFacts, State
from grader.report import figures
from grader.runner import reading, synthetic_data
from grader.runs import Rank, Runs
from tests.grader.checks.made_up_witness import next_to_witness

NOTHING = reading.read("pass")
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
    return next_to_witness(Runs({"one-host": ranks}, {}, traffic=1000))


several = st.lists(vectors, min_size=2, max_size=5).filter(
    lambda gradients: (
        np.ptp(np.array(gradients), axis=0).max() > max(1, 2 * updates.SPREAD * np.abs(gradients).max())
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
    assert updates.mean_gradient(claimed, right, NOTHING).unclear


def test_ranks_that_compute_the_same_gradients_show_nothing():
    apart, alike = [[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]], [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.01]]
    right = trained(apart, lambda rank: np.mean(apart, axis=0))
    found = updates.mean_gradient(trained(alike, lambda rank: alike[rank]), right, NOTHING)
    assert found.unclear and "All ranks compute the same gradients" in found.message


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
    assert own is not None and not own.unclear


def test_a_model_that_trains_less_than_the_solution_s_is_found():
    gradients = [[1.0, 2.0, 3.0, 4.0]] * 2
    right, less = (trained(gradients, lambda rank: gradients[0]) for _ in range(2))
    for rank in right.ranks():
        rank.facts.fits[0].values = 4
    assert "trains 0 values. Expected: 4" in updates.mean_gradient(less, right, NOTHING).message


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
    runs.topologies["one-host"][0].stdout = "Test accuracy"
    assert horovod_ranks.rank_0_reports(runs, runs, NOTHING).unclear
    assert figures.draw("weight_distance", runs) == ""
