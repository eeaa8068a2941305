"""The chain of a rank's weights: what follows by the mean of the gradients is followed, and nothing else is."""

import numpy as np
import pytest

from grader.witness.chain import Chain, MisfitError

SHAPES = (3, 4), (4,), (4,)
RATE, MOMENTUM, DECAY = 0.01, 0.9, 1e-4


@pytest.fixture
def random():
    return np.random.default_rng(1)


def arrays(random):
    return [random.standard_normal(shape) for shape in SHAPES]


class Rank:
    """A rank that trains as it should: with the mean, momentum and weight decay."""

    def __init__(self, random, momentum=0.0, decay=0.0):
        """Begin with weights of its own, and be looked at in an epoch."""
        self.random, self.momentum, self.decay, self.chain = random, momentum, decay, Chain()
        self.weights, self.velocity = arrays(random), [np.zeros(shape) for shape in SHAPES]
        self.chain.look(self.weights)
        self.chain.begin_epoch()

    def gradients(self, factor=1.0, dtype=float):
        """Reduce gradients with the witness's, and return their means."""
        means = []
        for own, ours in zip(arrays(self.random), arrays(self.random), strict=True):
            result = ((own + ours) / 2 * factor).astype(dtype).astype(float)
            self.chain.reduce(own, ours, result)
            means.append(result / factor)
        return means

    def step(self, means, rate=RATE):
        """Apply gradients."""
        self.velocity = [self.momentum * old - rate * mean for old, mean in zip(self.velocity, means, strict=True)]
        self.weights = [
            weight * (1 - self.decay * rate) + moved for weight, moved in zip(self.weights, self.velocity, strict=True)
        ]
        self.chain.look([weight.astype(np.float32).astype(float) for weight in self.weights])


@pytest.mark.parametrize("options", [{}, {"factor": 2.0}, {"dtype": np.float16}])
def test_steps_by_the_mean_are_followed_and_their_rates_found(random, options):
    rank = Rank(random)
    for rate in (RATE, RATE, RATE / 10):
        rank.step(rank.gradients(**options), rate)
    assert rank.chain.steps == [pytest.approx([RATE, RATE, RATE / 10], rel=2e-3)]
    assert len(rank.chain.sizes) == 3 and min(rank.chain.sizes) > 0.5


def test_momentum_and_weight_decay_are_found(random):
    rank = Rank(random, MOMENTUM, DECAY)
    for rate in (RATE, 2 * RATE, 3 * RATE):
        rank.step(rank.gradients(), rate)
    assert rank.chain.steps == [pytest.approx([RATE, 2 * RATE, 3 * RATE], rel=2e-3)]
    assert rank.chain.momenta == pytest.approx([MOMENTUM] * 2, rel=2e-3)


def test_weights_that_the_witness_sent_begin_the_chain(random):
    rank = Rank(random)
    rank.gradients()
    rank.weights = arrays(random)
    for weight in (*rank.weights, np.zeros(7)):  # variables that are not trained are sent, too
        rank.chain.send(weight)
    rank.chain.look(rank.weights)
    assert rank.chain.started and rank.chain.steps == [[None]]
    rank.step(rank.gradients())
    assert rank.chain.steps == [[None, pytest.approx(RATE, rel=2e-3)]]


def test_weights_that_are_nearly_those_sent_do_not_begin_it(random):
    rank = Rank(random)
    for weight in rank.weights:
        rank.chain.send(weight * 1.01)
    rank.chain.look(rank.weights)
    assert not rank.chain.started


def test_a_step_by_its_own_gradients_does_not_fit(random):
    rank = Rank(random)
    rank.gradients()
    with pytest.raises(MisfitError, match="something else than the mean"):
        rank.step(arrays(random))


def test_a_step_that_leaves_one_tensor_out_does_not_fit(random):
    rank = Rank(random)
    means = rank.gradients()
    with pytest.raises(MisfitError, match="something else than the mean"):
        rank.step([*means[:-1], np.zeros(SHAPES[-1])])


def test_a_step_without_a_mean_does_not_fit(random):
    rank = Rank(random)
    with pytest.raises(MisfitError, match="without a mean"):
        rank.step(arrays(random))


def test_another_model_does_not_fit(random):
    rank = Rank(random)
    rank.gradients()
    with pytest.raises(MisfitError, match="another model"):
        rank.chain.look([np.zeros(2)])


def test_a_tensor_does_not_hide_in_the_size_of_another(random):
    rank = Rank(random)
    own = [array * size for array, size in zip(arrays(random), (1, 1, 1e4), strict=True)]
    for gradient, ours in zip(own, arrays(random), strict=True):
        rank.chain.reduce(gradient, ours, (gradient + ours) / 2)
    with pytest.raises(MisfitError, match="something else than the mean"):
        rank.step(own)


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_what_is_no_number_does_not_fit(random, odd):
    rank = Rank(random)
    with pytest.raises(MisfitError, match="no number"):
        rank.chain.reduce(np.full(3, odd), np.ones(3), np.ones(3))
    with pytest.raises(MisfitError, match="no number"):
        rank.chain.look([np.full(shape, odd) for shape in SHAPES])


def test_a_rank_that_puts_in_other_numbers_than_it_announced_does_not_fit(random):
    own, ours, real = (random.standard_normal(5) for _ in range(3))
    with pytest.raises(MisfitError, match="other numbers"):
        Chain().reduce(own, ours, (real + ours) / 2)
