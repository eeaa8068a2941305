"""The checks of steps 13 and 14 where workers end early or do not run: each says what was not checked."""

import pytest

from grader.checks.multi_worker import batches, restart, workers
from grader.terms.facts import Disk
from grader.terms.findings import Untold
from tests.grader.checks.made_up_workers import SCRIPT, of_facts, of_fit, of_rank, right, said


@pytest.mark.parametrize("check", [workers.in_scope, batches.restored, batches.chief_reports])
def test_what_a_crash_hides_is_not_checked(check):
    found = said(check, lambda ranks: (of_rank(error="ValueError")(ranks), of_fit(end=None)(ranks)))
    assert found == Untold(seen="worker 1 (two workers) ends before it has trained")


def never_trains(ranks):
    ranks[1].facts.fits = []


def leave_no_checkpoint(runs):
    for rank in runs.all_ranks():
        rank.found = Disk()


@pytest.mark.parametrize(
    ("check", "change", "message"),
    [
        (
            workers.strategy_first,
            lambda ranks: (of_facts(strategies=[])(ranks), of_rank(error="ValueError")(ranks)),
            "worker 1 (two workers) ends before it makes its strategy",
        ),
        (restart.thrown_away, never_trains, "worker 1 (two workers) ends before it trains"),
        (restart.one_backup, never_trains, "worker 1 (two workers) ends before it trains"),
    ],
)
def test_what_a_worker_that_ends_early_does_not_show_is_not_checked(check, change, message):
    found = said(check, change)
    assert found == Untold(seen=message, line=found.line)


@pytest.mark.parametrize(
    ("check", "change", "message"),
    [
        (batches.restored, leave_no_checkpoint, "the killed workers leave no checkpoint that could be loaded"),
        (
            restart.resumed,
            lambda runs: runs.reserved["killed"][0].facts.fits.clear(),
            "the workers that one is killed of do not start to train",
        ),
        (
            restart.resumed,
            lambda runs: runs.reserved["killed"][0].facts.fits[0].epochs.clear(),
            "the workers that one is killed of do not train for an epoch",
        ),
        (
            restart.resumed,
            lambda runs: runs.reserved.pop("restarted"),
            "after a worker was killed, the program was not started again",
        ),
    ],
)
def test_what_was_not_run_is_not_checked(check, change, message):
    runs = right()
    change(runs)
    found = check(runs, right(), SCRIPT)
    assert found == Untold(seen=message, line=found.line)
