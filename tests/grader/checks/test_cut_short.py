"""The checks of steps 10 and 11 on runs of which ranks report less than all: none breaks, and none passes."""

from copy import deepcopy

import pytest

from grader.checks.production import resume
from grader.checks.production.imagenet_resnet50 import part
from grader.terms.clusters import BASE_LR
from grader.terms.facts import Batch, Epoch, HorovodFacts
from grader.terms.findings import Untold
from grader.terms.runs import Runs
from tests.grader.checks.made_up import SOURCE, STEPS, all_right, fits

CHECKS = [check.judge for number in (10, 11) for check in part.of(number)]


@pytest.fixture
def runs() -> Runs:
    """Runs of a script that does all that is asked for."""
    return all_right()


@pytest.fixture
def right() -> Runs:
    """Runs of the solution."""
    return all_right()


def test_what_is_right_passes(runs, right):
    assert [check(runs, right, SOURCE) for check in CHECKS] == [None] * len(CHECKS)


def cut_short(runs):
    """Yield runs of which a rank reports less and less."""
    for name, ranks in (runs.clusters | runs.reserved).items():
        for number in range(len(ranks)):

            def edited(edit, name=name, number=number):
                less = deepcopy(runs)
                edit((less.clusters | less.reserved)[name][number])
                return less

            def no_epochs(rank):
                rank.facts.fits[0].epochs, rank.facts.fits[0].batches = [], []

            def half_a_batch(rank):
                fit = rank.facts.fits[0]
                fit.epochs, fit.batches = [Epoch(1)], [Batch(BASE_LR, None, None, [1.0])]
                fit.end, fit.schedule = None, {}

            def first_epoch_alone(rank):
                fit = rank.facts.fits[0]
                fit.epochs, fit.batches, fit.schedule = fit.epochs[:1], fit.batches[:STEPS], {}

            yield name, edited(lambda rank: setattr(rank.facts, "fits", []))
            yield name, edited(no_epochs)
            yield name, edited(half_a_batch)
            yield name, edited(first_epoch_alone)
            yield name, edited(lambda rank: setattr(rank, "facts", HorovodFacts()))
            yield name, edited(lambda rank: setattr(rank.facts, "files", None))
    for reserved in ({}, {"resumed": []}, {"resumed": runs.reserved["resumed"][:1]}):
        yield "resumed", Runs(deepcopy(runs.clusters), reserved)


def test_whatever_a_rank_does_not_report_no_check_breaks(runs, right):
    for _, less in cut_short(runs):
        for check in CHECKS:
            check(less, right, SOURCE)


def test_what_no_check_could_see_is_no_pass(runs, right):
    for ranks in runs.clusters.values():
        for rank in ranks:
            rank.facts.fits = []
    found = [check(runs, right, SOURCE) for check in CHECKS]
    assert all(isinstance(finding, Untold) for finding in found)
    assert all(finding.message.startswith("Not checked: ") for finding in found)


def of_fit(name, number, **values):
    """Return a change of what a rank on a cluster says of model.fit."""

    def change(runs):
        for key, value in values.items():
            setattr(fits(runs, name)[number], key, value)

    return change


def no_checkpoint(*names):
    """Return a change of clusters on which no epoch leaves a checkpoint."""

    def change(runs):
        for epoch in (epoch for name in names for epoch in fits(runs, name)[0].epochs):
            epoch.saved = []

    return change


def never_trains(number):
    """Return a change of a rank that does not train when it is started again."""
    return lambda runs: runs.reserved["resumed"][number].facts.fits.clear()


NEVER_ENDS = "Rank 2 (three-ranks) does not train to its end."
RESTARTS = resume.goes_on, resume.state_restored, resume.loaded_everywhere


@pytest.mark.parametrize(
    ("check", "change", "message"),
    [
        (resume.renamed, no_checkpoint("two-hosts", "three-ranks"), "the program leaves no checkpoint."),
        (resume.one_writer, no_checkpoint("three-ranks"), "Rank 0 (three-ranks) saves no checkpoint."),
        (
            resume.one_writer,
            of_fit("two-hosts", 1, epochs=[]),
            "Rank 1 (two-hosts) does not train to its end.",
        ),
        *((check, of_fit("three-ranks", 2, epochs=[]), NEVER_ENDS) for check in RESTARTS),
        (resume.state_restored, of_fit("three-ranks", 0, end=None), "Rank 0 (three-ranks) does not train to its end."),
        (resume.goes_on, never_trains(1), "Rank 1 (started again) does not reach training."),
        (resume.state_restored, never_trains(0), "Rank 0 (started again) does not reach training."),
    ],
)
def test_what_a_training_that_is_cut_short_hides_is_not_checked(runs, right, check, change, message):
    change(runs)
    found = check(runs, right, SOURCE)
    assert found.message == f"Not checked: {message}"


@pytest.mark.parametrize("check", RESTARTS)
def test_a_program_that_was_not_started_again_is_not_checked(runs, right, check):
    del runs.reserved["resumed"]
    found = check(runs, right, SOURCE)
    assert found.message.startswith("Not checked: the program had to be ended before it ran on 3 ranks")
