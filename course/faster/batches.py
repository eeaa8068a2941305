"""Find how many updates and images a training needs to reach a target, by the size of its batch.

The network is small, so that a batch of thousands of images takes milliseconds. A larger batch is the mean of smaller
ones, as with backward_passes_per_step: to the weights, these are one batch. Each size has the best of some rates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course import data

MICRO = 256  # images that are computed at once
HIDDEN = 32
RATES = 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6
TARGET = 0.55  # mean loss on the images for validation
EVERY = 640  # images from one validation to the next, in batches that are smaller
MOST = 400_000  # images, after which a rate is given up


@dataclass(frozen=True)
class Needed:
    """What a training needs to reach the target, with the best rate for its batch."""

    batch: int
    rate: float
    updates: int

    @property
    def images(self) -> int:
        """Images in all updates."""
        return self.batch * self.updates


def needed(sizes: Sequence[int]) -> list[Needed]:
    """Return what a training needs with batches of each of these sizes, from small to large.

    Raises:
        ValueError: with no rate does a batch of this size reach the target.
    """
    (x, y), (x_test, y_test) = data.load()
    images, tests = (each.reshape(len(each), -1).astype(np.float32) / 255 for each in (x, x_test))
    found: list[Needed] = []
    for batch in sizes:
        best = None
        for rate in RATES:
            if found and rate < found[-1].rate:  # a larger batch has no use for a smaller rate
                continue
            training = _Training(images, y, batch, rate)
            most = best.updates if best else MOST // batch
            updates = training.updates_to(TARGET, tests, y_test, most)
            best = Needed(batch, rate, updates) if updates else best
        if best is None:
            raise ValueError(f"With batches of {batch} images, no rate reaches the target.")
        found.append(best)
    return found


def knee(found: Sequence[Needed]) -> int:
    """Return the largest batch with which the target needs at most twice as many images as with the best one."""
    fewest = min(each.images for each in found)
    return max(each.batch for each in found if each.images <= 2 * fewest)


class _Training:
    """A network with one hidden layer, and stochastic gradient descent."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, batch: int, rate: float):
        self.images, self.labels, self.batch, self.rate = images, labels, batch, rate
        self.draw = np.random.default_rng(0)
        self.weights = [
            self.draw.normal(0, np.sqrt(2 / before), (before, after)).astype(np.float32)
            for before, after in ((images.shape[1], HIDDEN), (HIDDEN, 10))
        ]
        self.order = np.empty(0, int)

    def updates_to(self, target: float, tests: np.ndarray, labels: np.ndarray, most: int) -> int | None:
        """Return after how many updates the loss on these images has reached the target; None if not before most."""
        every = max(1, EVERY // self.batch)
        for number in range(1, most):
            self._update()
            if number % every == 0 and self._loss(tests, labels) <= target:
                return number
        return None

    def _update(self) -> None:
        """Take one step, with the mean gradient of a batch."""
        while len(self.order) < self.batch:  # the next epoch
            self.order = np.append(self.order, self.draw.permutation(len(self.images)))
        chosen, self.order = self.order[: self.batch], self.order[self.batch :]
        parts = [self._gradients(chosen[start : start + MICRO]) for start in range(0, self.batch, MICRO)]
        for weight, *gradients in zip(self.weights, *parts, strict=True):
            weight -= self.rate * sum(gradients) / self.batch

    def _gradients(self, chosen: np.ndarray) -> list[np.ndarray]:
        """Return the gradients of the summed loss of some images."""
        inputs = self.images[chosen]
        hidden = np.maximum(inputs @ self.weights[0], 0)
        error = _shares(hidden @ self.weights[1])
        error[np.arange(len(chosen)), self.labels[chosen]] -= 1
        return [inputs.T @ (error @ self.weights[1].T * (hidden > 0)), hidden.T @ error]

    def _loss(self, images: np.ndarray, labels: np.ndarray) -> float:
        shares = _shares(np.maximum(images @ self.weights[0], 0) @ self.weights[1])
        return float(-np.log(shares[np.arange(len(labels)), labels] + 1e-9).mean())


def _shares(scores: np.ndarray) -> np.ndarray:
    """Return the softmax."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
