"""What capstones share, on made-up runs of the first one: how many images, and which accuracy."""

import pytest

from grader.checks import capstone_1
from grader.checks.capstone_1 import LEARNED_BATCH, learned
from grader.checks.learning import MARGIN
from grader.reading import parsing
from grader.terms.facts import Epoch
from grader.terms.findings import Finding
from grader.terms.runs import Runs
from tests.grader.checks.made_up import find
from tests.grader.checks.made_up_horovod import GRADIENT, METRIC, fit, rank

SCRIPT = parsing.read("optimizer = SGD(0.1)\nmodel.fit(training.take(3))\n")
STEPS = 120


def trained(size, accuracy=0.66, steps=None, epochs=3, **seen):
    """Return ranks that share the steps, each of which measures a little more or less than this accuracy."""
    each = [Epoch(steps or STEPS // size, 1, {"val_accuracy": 0.1}) for _ in range(epochs)]
    ranks = []
    for number in range(size):
        measured = {"val_accuracy": accuracy + 0.02 * (number % 2) - 0.01 * (size > 1)}
        last = Epoch(each[-1].steps, 1, measured)
        fits = [fit(each=[*each[:-1], last], reads=[])]
        ranks.append(rank(number, fits, cluster=f"{size} hosts with a rank each", **seen))
    return ranks


def runs(two=None, four=None):
    hosts = (cluster for (cluster,) in learned.several)
    clusters = zip(hosts, (trained(2) if two is None else two, trained(4) if four is None else four), strict=True)
    return Runs({}, {cluster.name: ranks for cluster, ranks in clusters if ranks})


EXPECTED = Runs({}, {learned.one.name: trained(1)})


def judged(*hosts):
    return tuple(
        find(check, runs(*hosts), EXPECTED, SCRIPT) for check in (capstone_1.no_more_images, capstone_1.accuracy)
    )


def test_as_many_images_and_as_good_an_accuracy_pass():
    assert judged() == (None, None)


@pytest.mark.parametrize(("less", "passes"), [(0.9 * MARGIN, True), (1.1 * MARGIN, False), (float("nan"), False)])
def test_an_accuracy_that_is_less_by_more_than_chance_fails(less, passes):
    _, found = judged(None, trained(4, 0.66 - less))
    assert (found is None) == passes
    if found:
        assert "4 hosts with a rank each" in found.message and "Expected: 0.66" in found.message and found.line == 1


def test_a_step_more_of_each_rank_is_rounding_and_two_are_more_images():
    assert judged(None, trained(4, steps=STEPS // 4 + 1))[0] is None
    found = judged(None, trained(4, steps=STEPS // 4 + 2))[0]
    assert f"train on {3 * LEARNED_BATCH * 4 * (STEPS // 4 + 2)} images" in found.message and found.line == 2


def test_more_epochs_are_more_images():
    assert "Expected: no more" in judged(trained(2, epochs=6))[0].message


def test_a_training_without_validation_shows_no_accuracy():
    ranks = trained(4)
    ranks[1].facts.fits[0].epochs = [Epoch(STEPS // 4)]
    found = judged(None, ranks)[1]
    assert found.message == "Not checked: no validation accuracy is measured (4 hosts with a rank each)."


def test_a_training_that_was_not_run_shows_nothing():
    found = capstone_1.no_more_images(runs(None, []), EXPECTED, SCRIPT)
    assert found.message == "Not checked: the program had to be ended before it ran on 4 hosts with a rank each."


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        ({"ended_for": "time"}, "does not end: it was ended at the time limit"),
        ({"exit": 1}, "ends with exit status 1"),
        ({"error": "ValueError: too bad"}, "ValueError: too bad"),
    ],
)
def test_a_training_that_fails_on_several_hosts_fails(seen, says):
    found = capstone_1.no_more_images(runs(trained(2, **seen)), EXPECTED, SCRIPT)
    assert says in found.message and type(found) is Finding


def test_a_deadlock_is_explained():
    ranks = trained(4, ended_for="stall", collective=GRADIENT)
    for last in ranks[2:]:
        last.collective = METRIC
    found = capstone_1.no_more_images(runs(None, ranks), EXPECTED, SCRIPT)
    assert "Deadlock (4 hosts with a rank each)" in found.message
