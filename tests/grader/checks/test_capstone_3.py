"""What the third capstone adds, on made-up runs: images, accuracy, and checks that are about one kind of cluster."""

import pytest

from grader.checks import capstone_3
from grader.checks.capstone_3 import LEARNING_ALONE, LEARNING_SERVED, LEARNING_TOGETHER, MARGIN
from grader.checks.part import Part
from grader.reading import parsing
from grader.terms.facts import Progress, TaskFacts, TaskFit
from grader.terms.findings import Untold
from grader.terms.runs import Rank, Runs
from tests.grader.checks.made_up import find

SCRIPT = parsing.read("model.fit(steps_per_epoch=5)\nSGD(0.1)\n")
STEPS, EPOCHS = 100, 3


def trained(cluster, processes, accuracy=0.58, steps=STEPS, epochs=EPOCHS):
    """Return processes that train for so many steps each, and in the end measure this accuracy."""
    fit = TaskFit("", [], steps, [], [], epochs=[steps] * epochs, end=Progress([1.0], steps))
    fit.accuracies = [0.1] * (epochs - 1) + [accuracy]
    facts = TaskFacts(fits=[fit])
    return [
        Rank(number, 0, f"Task {number}", cluster.description, 0, None, "", "", "", facts, reported=True)
        for number in range(processes)
    ]


def judged(workers=None, coordinator=None):
    """Return what both checks find."""
    workers = trained(LEARNING_TOGETHER, 2, steps=STEPS // 2) if workers is None else workers
    coordinator = trained(LEARNING_SERVED, 1) if coordinator is None else coordinator
    runs = Runs({}, {LEARNING_TOGETHER.name: workers, LEARNING_SERVED.name: coordinator})
    expected = Runs({}, {LEARNING_ALONE.name: trained(LEARNING_ALONE, 1)})
    return [find(check, runs, expected, SCRIPT) for check in (capstone_3.no_more_images, capstone_3.accuracy)]


def test_as_many_images_and_as_good_an_accuracy_pass():
    assert judged() == [None, None]


def test_the_steps_of_one_process_are_too_many_for_two_workers_and_not_for_a_coordinator():
    (found, _) = judged(workers=trained(LEARNING_TOGETHER, 2))
    assert "train on 6000 images (2 workers, on images of the course)" in found.message and found.line == 1
    assert "the 3000 of one process" in found.message


def test_more_epochs_of_a_coordinator_are_more_images():
    (found, _) = judged(coordinator=trained(LEARNING_SERVED, 1, epochs=4))
    assert "train on 4000 images (a parameter server and 2 workers" in found.message


@pytest.mark.parametrize(("less", "passes"), [(0.9 * MARGIN, True), (1.1 * MARGIN, False)])
def test_workers_that_learn_less_by_more_than_chance_fail(less, passes):
    (_, found) = judged(workers=trained(LEARNING_TOGETHER, 2, 0.58 - less, STEPS // 2))
    assert (found is None) == passes
    assert passes or "Expected: 0.58" in found.message


@pytest.mark.parametrize(("less", "passes"), [(0.9 * MARGIN, True), (1.1 * MARGIN, False)])
def test_a_coordinator_that_learns_less_by_more_than_chance_fails(less, passes):
    assert (judged(coordinator=trained(LEARNING_SERVED, 1, 0.58 - less))[1] is None) == passes


def test_a_training_that_takes_too_long_is_said_to():
    workers = trained(LEARNING_TOGETHER, 2, steps=STEPS // 2)
    workers[1].ended_for = "time"
    assert (
        "Task 1 (2 workers, on images of the course) does not end: it was ended at the time"
        in judged(workers)[0].message
    )


def test_no_validation_shows_no_accuracy():
    workers = trained(LEARNING_TOGETHER, 2, steps=STEPS // 2)
    for rank in workers:
        rank.facts.fits[0].accuracies = []
    assert isinstance(judged(workers)[1], Untold)


def test_workers_that_may_fail_of_what_else_they_do_are_not_asked_for_their_images():
    images = next(check for check in capstone_3.part.checks if check.judge is capstone_3.no_more_images)
    steps = {check.judge: check.step.number for check in capstone_3.part.checks}
    needed = [(steps[judge], judge.__name__) for judge in images.needs]
    assert needed == [(14, "thrown_away"), (13, "in_scope")]


def test_an_adopted_check_sees_the_clusters_that_it_is_about_and_needs_what_it_is_told_and_what_is_adopted():
    seen = []
    lesson, capstone = Part("lesson.py", TaskFacts), Part("capstone.py", TaskFacts)

    @lesson.check(13, hint="")
    def left_out(runs, expected, source):
        """Left out."""

    @lesson.check(13, hint="", needs=(left_out,))
    def first(runs, expected, source):
        """First."""
        seen.append((set(runs.clusters), set(runs.reserved), set(expected.clusters)))

    @lesson.check(14, hint="", needs=(first,))
    def second(runs, expected, source):
        """Second."""

    @capstone.check(1, hint="")
    def own(runs, expected, source):
        """Own."""

    adopted = capstone.adopt(lesson, (13, 14), {left_out: None}, on=("two", "killed"), needs={second: (own,)})
    _, one_of, other = capstone.checks
    assert adopted == {first: one_of.judge, second: other.judge}
    one_of.judge(Runs({"two": [], "served": []}, {"killed": []}), Runs({"two": [], "served": []}), SCRIPT)
    assert seen == [({"two"}, {"killed"}, {"two"})]
    ended_before = one_of.judge(Runs({"served": []}), Runs({"two": [], "served": []}), SCRIPT)
    assert (
        isinstance(ended_before, Untold)
        and "before it ran on this kind of cluster" in ended_before.message
        and len(seen) == 1
    )
    assert one_of.needs == () and other.needs == (own, one_of.judge) and one_of.judge.__name__ == "first"
