"""What step 24's watcher makes of a training that it has seen."""

import pytest

from course.faster.rank import Rank
from course.faster.training import Training
from grader.watchers import faster_watcher


@pytest.mark.parametrize(
    ("second", "apart"),
    [([1.0, 2.0], False), ([1.00001, 2.0], False), ([1.01, 2.0], True), ([1.0], True), ([], True)],
)
def test_ranks_with_other_weights_are_apart(second, apart):
    ranks = [Rank(size=2, images=8, seconds=1.0, weights=[1.0, 2.0]), Rank(images=8, seconds=2.0, weights=second)]
    assert faster_watcher.seen(Training(ranks, 100, 3)).apart == apart


def test_costs_are_those_of_all_ranks():
    ranks = [Rank(size=2, images=8, seconds=1.0, loss=0.5), Rank(images=8, seconds=2.0)]
    seen = faster_watcher.seen(Training(ranks, 100, 3))
    assert (seen.images, seen.seconds, seen.loss, seen.exchanges, seen.received) == (16, 2.0, 0.5, 3, 100)
