"""The checks of steps 10 and 11 on runs of which ranks report less than all: none breaks, and none passes."""

from copy import deepcopy

import pytest

from grader.checks.production.program import part
from grader.facts import Batch, Epoch, HorovodFacts
from grader.job import BASE_LR
from grader.runs import Runs
from tests.grader.checks.made_up import SOURCE, STEPS, all_right

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
    for name, ranks in (runs.topologies | runs.reserved).items():
        for number in range(len(ranks)):

            def edited(edit, name=name, number=number):
                less = deepcopy(runs)
                edit((less.topologies | less.reserved)[name][number])
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
        yield "resumed", Runs(deepcopy(runs.topologies), reserved)


def test_whatever_a_rank_does_not_report_no_check_breaks(runs, right):
    for _, less in cut_short(runs):
        for check in CHECKS:
            check(less, right, SOURCE)


def test_what_no_check_could_see_is_no_pass(runs, right):
    for ranks in runs.topologies.values():
        for rank in ranks:
            rank.facts.fits = []
    found = [check(runs, right, SOURCE) for check in CHECKS]
    assert all(finding and finding.untold for finding in found)
    assert all(finding.message.startswith("Not checked: ") for finding in found)
