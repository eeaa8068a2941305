"""The checks of step 9, on made-up epochs: any right way of sharing out passes, and messages say what was drawn."""

from functools import partial

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
from tests.grader.checks.made_up import MadeUp, of, rows

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
    again = runs_of(epochs, initial=initial, cluster="started again", **ways)
    runs.reserved["resumed-on-one-host"] = again.clusters["three-ranks"]
    return runs


def find(check, runs, text=SOURCE.text):
    """Return what a check finds in these runs; the solution's are the same."""
    return MadeUp(lambda: runs, parsing.read(text)).find(check)


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
        found = find(check, runs)
        chance = check is shares.new_shares and way is whole_steps  # both epochs may leave the same image out
        assert found is None or (chance and "never used" in found.message), found


@given(st.integers(0, 1000), st.integers(2, 3))
def test_orders_that_differ_between_ranks_are_found(seed, size):
    def own(epoch, size, images):
        return [cut(seed + 7 * epoch + 1000 * rank, size, images)[rank] for rank in range(size)]

    found = find(shares.shares, runs_of(range(8), size, own))
    assert found and f"of the {TRAIN_IMAGES} images" in found.message and found.line == 1


def lasting(epoch, size, images):
    """Return shares of an order that lasts for several epochs."""
    order = np.resize(np.random.default_rng(0).permutation(images), 4 * images)
    each = 6 if size == 3 else 8
    return [[str(image) for image in order[rank::size][each * epoch : each * (epoch + 1)]] for rank in range(size)]


def round_robin(epoch, size, images):
    shares = cut(0, size, images)
    return shares[epoch:] + shares[:epoch]


def fixed(epoch, size, images):
    return [list(np.random.default_rng(epoch).permutation(share)) for share in cut(0, size, images)]


def all_but_one(epoch, size, images):
    return cut(epoch, size, images - 1)


def late(epoch, size, images):
    return [share[: 6 - epoch] for share in cut(epoch, size, images)]


def changed(*given, edit):
    """Return shares of the solution after an edit of all of them."""
    return edit(cut(*given))


def by(edit):
    return partial(changed, edit=edit)


AGAIN = by(lambda shares: [["1", "1", "1", "2", "2", "2", "2"], shares[1]])
ALL = by(lambda shares: [[str(image) for image in range(VAL_IMAGES)]] * 2)
TO_ALL = by(lambda shares: [shares[0] for _ in shares])
TWICE, FEW = by(lambda shares: [2 * each for each in shares]), by(lambda shares: [each[:4] for each in shares])
FIRST = "Rank 0 (started again) has the order of epoch "
WRONG = {
    shares.shares: [
        (runs_of([0], 3, TO_ALL), 1, "In epoch 1 (one host), ranks "),
        (runs_of([0], 3, TO_ALL), 1, "same 5 images, and no rank takes 8 of the 13 images."),
        (runs_of([0], 2, AGAIN), 1, "rank 0 takes 5 images more than once"),
    ],
    shares.share_steps: [
        (runs_of([0], 2, TWICE), 4, "all ranks together take 28 images in epoch 1 (one host)."),
        (runs_of([0], 2, TWICE), 4, "Expected: the 13 images of the data set"),
        (runs_of([0], 2, FEW), 4, "With 2 steps per epoch, all ranks together take 8 images"),
        (runs_of([0], 2, by(lambda shares: [shares[0], shares[1][:2]])), 4, "take 7 and 2 images, in 4 and 1 steps."),
        (runs_of([0, 1], 2, late), 4, "rank 0 takes 6 images in epoch 1 (one host) and then 5."),
    ],
    shares.new_shares: [
        (runs_of([0, 1], 3, lasting), 1, "Expected: another order in each epoch."),
        (runs_of([0, 0]), 1, "In epoch 2 (one host), rank 0 takes its images in the order that it had in epoch 1."),
        (runs_of([0, 1], 2, round_robin), 1, "rank 0 takes its images in the order that rank 1 had in epoch 1."),
        (runs_of([0, 1], 2, lasting), 1, "rank 0 takes its images in the order that rank 1 had in epoch 1."),
        (runs_of([0, 1], 2, fixed), 1, "Every rank takes the same images in epochs 1 and 2 (one host)"),
        (runs_of([0, 1], 2, all_but_one), 1, "1 of 13 images are never used, in any epoch"),
    ],
    shares.resumed_shares: [
        (resumed(runs_of([0, 1]), [0]), 3, f"{FIRST}1 in epoch 3."),
        (resumed(runs_of([0, 1], train=by(lambda shares: shares[::-1])), [0]), 3, f"{FIRST}1 in epoch 3."),
        (resumed(runs_of([0, 1]), [5, 5]), 3, f"{FIRST}4 in epoch 3."),
    ],
    shares.validation_shares: [
        (runs_of([0], validate=ALL), 6, "the ranks validate on 9 and 9 images, where there are 9."),
        (runs_of([0], validate=TO_ALL), 5, "ranks 0 and 1 both take the same 5 images for validation"),
        (runs_of([0], validate=by(lambda shares: [[], []])), 6, "the ranks validate on 0 and 0 images"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "runs", "line", "message"), rows(WRONG))
def test_what_is_wrong_is_said_with_its_line(check, runs, line, message):
    assert MadeUp(lambda: runs, SOURCE).fails(check, (), message).line == line


def test_right_shares_of_a_wrong_number_of_steps_pass():
    assert find(shares.shares, runs_of([0, 1], 2, late)) is None


def test_an_epoch_that_is_trained_again_keeps_its_order():
    assert find(shares.resumed_shares, resumed(runs_of([0, 1]), [1, 2], initial=1)) is None


def test_validation_on_training_images_is_found():
    runs = runs_of([0])
    for rank in runs.ranks():
        rank.facts.fits[0].epochs[0].validation_images = rank.facts.fits[0].epochs[0].images[:4]
    found = find(shares.validation_shares, runs)
    assert "the ranks validate on 8 images that they train on" in found.message and found.line == 5


@pytest.mark.parametrize(
    ("seeded", "message"),
    [
        (
            {"seeds": ["0", "1"]},
            "On Rank 1 (one host), NumPy's global generator is seeded with 0 in",
        ),
        ({"generator": "the same"}, "is in the same state when training begins as on rank 0."),
    ],
)
def test_ranks_that_seed_numpy_alike_fail(seeded, message):
    runs = runs_of([0, 1])
    of("three-ranks", **seeded)(runs)
    found = find(shares.own_generator, runs, "np.random.seed(epoch)\nmodel.fit()\n")
    assert message in found.message and found.line == 1


def test_ranks_may_seed_numpy_each_in_its_own_way():
    runs = runs_of([0, 1])
    for number in range(2):
        of("three-ranks", number, seeds=[str(number)])(runs)
    assert find(shares.own_generator, runs) is None


def test_what_was_not_seen_is_not_checked():
    assert find(shares.new_shares, runs_of([0])).message == "Not checked: no rank reaches a second epoch."
    runs = resumed(runs_of([0, 1]), [])
    of("resumed-on-one-host", 1, fits=[], error="OSError: no checkpoint")(runs)
    found = find(shares.resumed_shares, runs)
    assert found.message == "Not checked: Rank 1 (started again) does not reach training (OSError: no checkpoint)."
    found = find(shares.resumed_shares, runs_of([0, 1]))
    assert found.message.startswith("Not checked: the program had to be ended before it ran on ")
