"""The checks of step 9, on made-up epochs: any right way of sharing out passes, and messages say what was drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.checks.production import shares
from grader.checks.production.imagenet_resnet50 import val_batch
from grader.reading import parsing
from grader.terms.clusters import BATCH, TRAIN_IMAGES, VAL_IMAGES
from grader.terms.facts import Batch, Epoch, Fit, HorovodFacts, State
from grader.terms.runs import Rank, Runs
from tests.grader.checks.judged import find

SOURCE = parsing.read(
    "order = np.random.default_rng(epoch).permutation(images.samples)\n"  # 1
    "model.fit(\n"  # 2
    "    share_of(train_iter, itertools.count(initial_epoch)),\n"  # 3
    "    steps_per_epoch=steps_of(train_iter),\n"  # 4
    "    validation_data=share_of(val_iter, itertools.repeat(0)),\n"  # 5
    "    validation_steps=steps_of(val_iter),\n"  # 6
    ")\n"
)
CHECKS = shares.shares, shares.share_steps, shares.new_shares, shares.validation_shares, shares.resumed_shares


def cut(epoch, size, images):
    """Return the shares of the solution."""
    order = np.random.default_rng(epoch).permutation(images)
    order = np.resize(order, -(-images // size) * size)
    return [[str(image) for image in order[rank::size]] for rank in range(size)]


def named(way, size):
    """Return the validation shares that a function cuts, with names that no training image has."""
    return [[f"val {image}" for image in share] for share in way(0, size, VAL_IMAGES)]


def runs_of(epochs, size=2, train=cut, validate=cut, initial=0, name="three-ranks", cluster="one host"):
    """Return runs whose ranks train and validate on the shares that two functions give for each epoch."""
    ranks = []
    for number in range(size):
        own = [
            Epoch(images=train(epoch, size, TRAIN_IMAGES)[number], validation_images=named(validate, size)[number])
            for epoch in epochs
        ]
        fit = Fit(0, {}, [], [], None, [], [], initial, State([], [], 0, []), [Batch(0.1, [], [], [])], own)
        fit.generator = f"of rank {number}"
        facts = HorovodFacts(fits=[fit])
        ranks.append(Rank(number, 0, f"Rank {number}", cluster, 0, None, "", "", "", facts, reported=True))
    return Runs({name: ranks})


def resumed(runs, epochs, initial=2, **ways):
    runs.reserved["resumed-on-one-host"] = runs_of(epochs, initial=initial, cluster="started again", **ways).clusters[
        "three-ranks"
    ]
    return runs


def of(check, runs):
    return find(check, runs, runs, SOURCE)


def blocks(epoch, size, images):
    order = np.resize(np.random.default_rng(epoch).permutation(images), -(-images // size) * size)
    return [[str(image) for image in block] for block in order.reshape(size, -1)]


def whole_steps(epoch, size, images):
    step = size * (BATCH if images == TRAIN_IMAGES else val_batch("three-ranks"))
    order = np.random.default_rng(epoch).permutation(images)[: images // step * step]
    return [[str(image) for image in order[rank::size]] for rank in range(size)]


def full_batches(epoch, size, images):
    step = size * (BATCH if images == TRAIN_IMAGES else val_batch("three-ranks"))
    order = np.resize(np.random.default_rng(epoch).permutation(images), -(-images // step) * step)
    return [[str(image) for image in order[rank::size]] for rank in range(size)]


@pytest.mark.parametrize("way", [cut, blocks, whole_steps, full_batches], ids=lambda way: way.__name__)
@pytest.mark.parametrize("size", [2, 3])
@given(start=st.integers(0, 1000))
def test_each_right_way_passes(way, size, start):
    runs = resumed(runs_of([start, start + 1], size, way, way), [start + 2], size=size, train=way, validate=way)
    for check in CHECKS:
        found = of(check, runs)
        chance = check is shares.new_shares and way is whole_steps  # both epochs may leave the same image out
        assert found is None or (chance and "never used" in found.message), found


@given(st.integers(0, 1000), st.integers(2, 3))
def test_orders_that_differ_between_ranks_are_found(seed, size):
    def own(epoch, size, images):
        return [cut(seed + 7 * epoch + 1000 * rank, size, images)[rank] for rank in range(size)]

    runs = runs_of([0, 1, 2, 3, 4, 5, 6, 7], size, own)
    found = of(shares.shares, runs)
    assert found and f"of the {TRAIN_IMAGES} images" in found.message and found.line == 1


def test_an_order_that_lasts_for_two_epochs_is_found():
    def lasting(epoch, size, images):
        order = np.resize(np.random.default_rng(0).permutation(images), images * size)
        return [[str(image) for image in order[rank::size][6 * epoch : 6 * epoch + 6]] for rank in range(size)]

    found = of(shares.new_shares, runs_of([0, 1], 3, lasting))
    assert "Expected: another order in each epoch." in found.message


def test_shares_that_overlap_are_named_with_their_ranks():
    found = of(shares.shares, runs_of([0], 3, lambda *given: [cut(*given)[0]] * 3))
    assert found.message.startswith("In epoch 1 (one host), ranks ")
    assert "both take the same 5 images, and no rank takes 8 of the 13 images." in found.message


def test_a_rank_that_draws_an_image_again_is_named():
    found = of(shares.shares, runs_of([0], 2, lambda *given: [["1", "1", "1", "2", "2", "2", "2"], cut(*given)[1]]))
    assert "rank 0 takes 5 images more than once" in found.message


def test_more_steps_than_the_share_has_are_found():
    found = of(shares.share_steps, runs_of([0], 2, lambda *given: [share * 2 for share in cut(*given)]))
    assert found.message.startswith("With 7 steps per epoch, all ranks together take 28 images in epoch 1 (one host).")
    assert "Expected: the 13 images of the data set" in found.message and found.line == 4


def test_fewer_steps_than_the_share_has_are_found():
    found = of(shares.share_steps, runs_of([0], 2, lambda *given: [share[:4] for share in cut(*given)]))
    assert "With 2 steps per epoch, all ranks together take 8 images" in found.message


def test_steps_that_differ_are_found():
    found = of(shares.share_steps, runs_of([0], 2, lambda *given: [cut(*given)[0], cut(*given)[1][:2]]))
    assert "the ranks take 7 and 2 images, in 4 and 1 steps." in found.message


def test_a_share_that_reaches_into_the_next_epoch_is_found():
    def late(epoch, size, images):
        return [share[: 6 - epoch] for share in cut(epoch, size, images)]

    found = of(shares.share_steps, runs_of([0, 1], 2, late))
    assert found.message.startswith("With 3 steps per epoch, rank 0 takes 6 images in epoch 1 (one host) and then 5.")
    assert of(shares.shares, runs_of([0, 1], 2, late)) is None


def test_the_same_order_in_each_epoch_is_found():
    found = of(shares.new_shares, runs_of([0, 0]))
    assert (
        found.message.startswith("In epoch 2 (one host), rank 0 takes its images in the order that it had in epoch 1.")
        and found.line == 1
    )


def test_shares_that_go_round_in_one_order_are_found():
    def round_robin(epoch, size, images):
        shares = cut(0, size, images)
        return shares[epoch:] + shares[:epoch]

    found = of(shares.new_shares, runs_of([0, 1], 2, round_robin))
    assert "rank 0 takes its images in the order that rank 1 had in epoch 1." in found.message


def test_an_order_that_goes_on_into_the_next_epoch_is_found():
    def long(epoch, size, images):
        order = np.resize(np.random.default_rng(0).permutation(images), 4 * images)
        return [[str(image) for image in order[rank::size][8 * epoch : 8 * (epoch + 1)]] for rank in range(size)]

    found = of(shares.new_shares, runs_of([0, 1], 2, long))
    assert "rank 0 takes its images in the order that rank 1 had in epoch 1." in found.message


def test_shares_cut_before_shuffling_are_found():
    def fixed(epoch, size, images):
        return [list(np.random.default_rng(epoch).permutation(share)) for share in cut(0, size, images)]

    found = of(shares.new_shares, runs_of([0, 1], 2, fixed))
    assert found.message.startswith("Every rank takes the same images in epochs 1 and 2 (one host)")


def test_images_that_are_never_used_are_counted():
    found = of(shares.new_shares, runs_of([0, 1], 2, lambda epoch, size, images: cut(epoch, size, images - 1)))
    assert found.message.startswith("1 of 13 images are never used, in any epoch on any cluster.")


def test_one_epoch_alone_shows_no_new_order():
    found = of(shares.new_shares, runs_of([0]))
    assert found.message == "Not checked: no rank reaches a second epoch."


def test_orders_that_begin_again_after_a_resume_are_found():
    found = of(shares.resumed_shares, resumed(runs_of([0, 1]), [0]))
    assert found.message.startswith("Rank 0 (started again) has the order of epoch 1 in epoch 3.") and found.line == 3


def test_an_order_that_another_rank_had_and_one_that_stays_are_found_after_a_resume():
    found = of(shares.resumed_shares, resumed(runs_of([0, 1], train=lambda *given: cut(*given)[::-1]), [0]))
    assert found.message.startswith("Rank 0 (started again) has the order of epoch 1 in epoch 3.")
    found = of(shares.resumed_shares, resumed(runs_of([0, 1]), [5, 5]))
    assert found.message.startswith("Rank 0 (started again) has the order of epoch 4 in epoch 3.")


def test_an_epoch_that_is_trained_again_keeps_its_order():
    assert of(shares.resumed_shares, resumed(runs_of([0, 1]), [1, 2], initial=1)) is None


def test_a_resume_that_never_came_to_train_is_not_passed():
    runs = resumed(runs_of([0, 1]), [])
    last = runs.reserved["resumed-on-one-host"][1]
    last.facts.fits, last.error = [], "OSError: no checkpoint"
    found = of(shares.resumed_shares, runs)
    assert found.message == "Not checked: Rank 1 (started again) does not reach training (OSError: no checkpoint)."
    found = of(shares.resumed_shares, runs_of([0, 1]))
    assert found.message.startswith("Not checked: the program had to be ended before it ran on ")


def test_validation_on_all_images_is_found():
    everything = [str(image) for image in range(VAL_IMAGES)]
    found = of(shares.validation_shares, runs_of([0], validate=lambda *given: [everything] * 2))
    assert found.message.startswith("In epoch 1 (one host), the ranks validate on 9 and 9 images, where there are 9.")
    assert "a share on each rank" in found.message and found.line == 6


def test_validation_on_one_share_is_found():
    found = of(shares.validation_shares, runs_of([0], validate=lambda *given: [cut(*given)[0]] * 2))
    assert "ranks 0 and 1 both take the same 5 images for validation" in found.message and found.line == 5


def test_no_validation_is_found():
    found = of(shares.validation_shares, runs_of([0], validate=lambda *given: [[], []]))
    assert "the ranks validate on 0 and 0 images" in found.message


def test_validation_on_training_images_is_found():
    runs = runs_of([0])
    for rank in runs.ranks():
        rank.facts.fits[0].epochs[0].validation_images = rank.facts.fits[0].epochs[0].images[:4]
    found = of(shares.validation_shares, runs)
    assert "the ranks validate on 8 images that they train on" in found.message and found.line == 5


def test_ranks_that_seed_numpy_alike_in_training_fail():
    runs = runs_of([0, 1])
    for rank in runs.clusters["three-ranks"]:
        rank.facts.fits[0].seeds = ["0", "1"]
    found = find(shares.own_generator, runs, runs, parsing.read("np.random.seed(epoch)\nmodel.fit()\n"))
    assert (
        "On Rank 1 (one host), NumPy's global generator is seeded with 0 in training, as on rank 0." in found.message
        and found.line == 1
    )


def test_ranks_that_seed_numpy_alike_before_training_fail():
    runs = runs_of([0, 1])
    for rank in runs.clusters["three-ranks"]:
        rank.facts.fits[0].generator = "the same"
    found = find(shares.own_generator, runs, runs, parsing.read("np.random.seed(1)\nmodel.fit()\n"))
    assert "is in the same state when training begins as on rank 0." in found.message and found.line == 1


def test_ranks_may_seed_numpy_each_in_its_own_way():
    runs = runs_of([0, 1])
    for rank in runs.clusters["three-ranks"]:
        rank.facts.fits[0].seeds = [str(rank.number)]
    assert find(shares.own_generator, runs, runs, SOURCE) is None
