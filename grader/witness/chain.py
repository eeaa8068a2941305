"""Follow the weights of a rank from step to step: does each step move them by the mean of the gradients?

What a rank puts into a mean is its own word. What comes out is not: half of it is the witness's, and random. So weights
that move by what came out can only be had by taking part.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING = 1e-6  # of the largest weight of a tensor: they are float32
SHORTENED = 5e-3  # of the largest gradient of a tensor: some are sent in 16 bits
NEAR = 1e-3  # of the largest movement of a tensor
DECAY = 1e-4  # of the weights themselves, that a step may take off
NOTHING = 1e-30


class MisfitError(Exception):
    """Something does not follow from what was before; the message says what."""


class Chain:
    """The weights of one rank, as far as each step follows from the one before.

    Attributes:
        started: whether the weights were once those that the witness had sent.
        steps: of each epoch, the learning rates of its steps; None where a broadcast came before they could be seen.
        momenta: of each step, which part of the step before it had in it.
        sizes: of each step, the root mean square of the gradients that the rank put in.
    """

    def __init__(self) -> None:
        """Begin before any weights are known."""
        self.started = False
        self.steps: list[list[float | None]] = []
        self.momenta: list[float] = []
        self.sizes: list[float] = []
        self._weights: list[Array] | None = None
        self._moved: Array | None = None  # by the last step
        # Since the weights were last looked at: what the witness sent as root of a broadcast, and of each reduction
        # the mean and the rank's part of it.
        self._sent: list[Array] = []
        self._means: list[tuple[Array, Array]] = []
        self._epoch = -1  # of these

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the weights, as last looked at."""
        return [array.shape for array in self._weights or ()]

    def begin_epoch(self) -> None:
        """Begin an epoch."""
        self.steps.append([])

    def send(self, values: Array) -> None:
        """Note what the witness sends as the root of a broadcast."""
        self._sent.append(values)

    def reduce(self, own: Array, ours: Array, result: Array) -> None:
        """Note what a rank says that it puts into a reduction, what the witness puts in, and what comes out.

        Raises:
            MisfitError: the result is neither their mean nor a multiple of it.
        """
        if not np.isfinite([own, ours, result]).all():
            raise MisfitError("put in what is no number")
        mean = (own + ours) / 2
        factor = float((result * mean).sum() / max((mean * mean).sum(), NOTHING))
        if np.abs(result - factor * mean).max(initial=0) > SHORTENED * np.abs(result).max(initial=0) + NOTHING:
            raise MisfitError("put other numbers into a mean than it announced")
        self._means.append((result / (factor or 1.0), own))
        self._epoch = len(self.steps) - 1

    def look(self, weights: Sequence[Array]) -> None:
        """Note the weights that the rank has now.

        Raises:
            MisfitError: neither are they what the witness has sent, nor do they follow from those before by a step.
        """
        now = list(weights)
        if not all(np.isfinite(weight).all() for weight in now):
            raise MisfitError("has weights that are no numbers")
        if _are_among(self._sent, now):
            self.started, self._moved = True, None
            # The broadcast came after the first update: of this step nothing more can be seen.
            if self._means and self._epoch >= 0:
                self.steps[self._epoch].append(None)
        elif self._weights is not None:
            self._follow(self._weights, now)
        self._weights, self._sent, self._means = now, [], []

    def _follow(self, before: list[Array], now: list[Array]) -> None:
        """Note the step from these weights to those.

        An update of stochastic gradient descent is a multiple of the mean gradient, with a part of the update before,
        where there is momentum, and of the weights, where they decay. Least squares say which multiples.
        """
        if [array.shape for array in before] != [array.shape for array in now]:
            raise MisfitError("changed to another model in mid-training")
        moved = _joined(now) - _joined(before)
        means = _in_order(self._means, now)
        if means is None:
            if np.any(moved):
                raise MisfitError("changed its weights without a mean of gradients")
            return
        gradient = _joined([mean for mean, _ in means])
        parts = [gradient, _joined(before)] + ([] if self._moved is None else [self._moved])
        scales = [max(float(np.abs(part).max()), NOTHING) for part in parts]
        columns = np.stack([part / scale for part, scale in zip(parts, scales, strict=True)], axis=1)
        factors = np.linalg.lstsq(columns, moved, rcond=None)[0]
        ends = np.cumsum([array.size for array in now])[:-1]
        tensors = zip(*(np.split(values, ends) for values in (columns @ factors, moved, parts[1])), strict=True)
        if not all(_fits(*tensor) for tensor in tensors):
            raise MisfitError("moved its weights by something else than the mean of the gradients")
        multiples = factors / scales
        if not abs(multiples[1]) <= DECAY:
            raise MisfitError("changed its weights by a part of themselves")
        if self._epoch >= 0:
            self.steps[self._epoch].append(-float(multiples[0]))
        if self._moved is not None:
            self.momenta.append(float(multiples[2]))
        own = _joined([own for _, own in means])
        self.sizes.append(float(np.sqrt(np.mean(own * own))))
        self._moved = moved


def _fits(found: Array, moved: Array, before: Array) -> bool:
    """Whether a tensor moved as was found, but for what rounding does. A tensor must not hide in another's size."""
    allowed = ROUNDING * np.abs(before).max(initial=0) + NEAR * np.abs(moved).max(initial=0)
    return bool(np.abs(found - moved).max(initial=0) <= allowed)


def _joined(arrays: Sequence[Array]) -> Array:
    return np.concatenate([array.ravel() for array in arrays])


def _are_among(sent: Sequence[Array], weights: Sequence[Array]) -> bool:
    """Whether each of the weights is one of the arrays sent, which are random: none is like another."""
    left = list(sent)
    for weight in weights:
        found = next(
            (
                number
                for number, array in enumerate(left)
                if array.shape == weight.shape and np.allclose(array, weight, ROUNDING, 0)
            ),
            None,
        )
        if found is None:
            return False
        del left[found]
    return bool(weights)


def _in_order(means: list[tuple[Array, Array]], weights: Sequence[Array]) -> list[tuple[Array, Array]] | None:
    """Return the means that have the shapes of the weights, in their order; None where one is missing."""
    left, found = list(means), []
    for weight in weights:
        number = next((number for number, (mean, _) in enumerate(left) if mean.shape == weight.shape), None)
        if number is None:
            return None
        found.append(left.pop(number))
    return found
