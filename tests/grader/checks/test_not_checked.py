"""Checks of all parts where ranks report less than they should: none breaks or passes, and each says why."""

from copy import deepcopy
from itertools import product

import pytest

from grader.checks import horovod, production
from grader.checks.horovod import epochs, ranks, updates
from grader.checks.production import rate, resume, staging
from grader.checks.production.imagenet_resnet50 import FRESH
from grader.terms.clusters import BASE_LR
from grader.terms.facts import Batch, Epoch, HorovodFacts
from grader.terms.findings import Untold
from grader.terms.runs import Runs
from tests.grader.checks.made_up import find, of, rows
from tests.grader.checks.made_up_horovod import ERROR, HOROVOD, ORDER, batch, epoch, first, fit, rank, runs, second
from tests.grader.checks.made_up_production import PRODUCTION, STEPS, of_epochs, of_rates
from tests.grader.checks.made_up_staging import STAGING, disk

# Of these, there are tests of their own: they need hosts without GPUs, or gradients.
ELSEWHERE = ranks.without_gpus, ranks.enough_gpus, updates.mean_gradient
SUITES = {
    "horovod": (HOROVOD, [check.judge for check in horovod.part.checks if check.judge not in ELSEWHERE]),
    "staging": (STAGING, [check.judge for check in production.part.of(8)]),
    "production": (PRODUCTION, [check.judge for number in (10, 11) for check in production.part.of(number)]),
}


@pytest.mark.parametrize(("made", "checks"), SUITES.values(), ids=SUITES)
def test_what_is_right_passes(made, checks):
    assert [check(made.solved(), made.solved(), made.source) for check in checks] == [None] * len(checks)


LESS = [
    {"fits": []},
    {"epochs": [], "batches": []},
    {"epochs": [Epoch(1)], "batches": [Batch(BASE_LR, None, None, [1.0])], "end": None, "schedule": {}},  # half a batch
    {"epochs": [Epoch(STEPS)], "schedule": {}},
    {"files": None},
    {"facts": HorovodFacts()},
]


def cut_short(made):
    """Yield runs of which a rank reports less, or of which a cluster that one check alone judges is missing."""
    right = made.solved()
    for name, its_ranks in (right.clusters | right.reserved).items():
        for number, values in product(range(len(its_ranks)), LESS):
            if its_ranks[number].facts.fits or values.keys() <= {"fits", "files", "facts"}:
                less = made.solved()
                of(name, number, **deepcopy(values))(less)
                yield less
        if name in right.reserved:
            less = made.solved()
            del less.reserved[name]
            yield less


@pytest.mark.parametrize(("made", "checks"), SUITES.values(), ids=SUITES)
def test_whatever_a_rank_does_not_report_no_check_breaks(made, checks):
    for less, check in product(cut_short(made), checks):
        check(less, made.solved(), made.source)


@pytest.mark.parametrize("check", SUITES["production"][1], ids=lambda check: check.__name__)
def test_what_no_rank_shows_is_not_checked(check):
    PRODUCTION.is_not_checked(check, (of("two-hosts", fits=[]), of("three-ranks", fits=[])), "")


def crash(order=("init",), fits=()):
    """Return a change of rank 1, which ends with an error on line 3."""
    return second(fits=list(fits), order=order, **ERROR)


def not_run(name):
    return lambda runs: runs.reserved.pop(name)


UNTRAINED = "Rank 1 (2 ranks on one host) does not reach training (ValueError: odd)."
NO_EPOCH = "Rank 1 (2 ranks on one host) does not train to its end (ValueError: odd)."
NO_MODEL = "Rank 1 (2 ranks on one host) ends before it builds a model."
NEVER_ENDS = of("three-ranks", 2, epochs=[]), "Rank 2 (three-ranks) does not train to its end."
NOT_AGAIN = not_run("resumed"), "the program had to be ended before it ran on 3 ranks"
NO_CHECKPOINT = [of_epochs(name, 0, saved=[]) for name in ("two-hosts", "three-ranks")]
LONGER = [BASE_LR * (1 + (step + 1) / 20) for step in range(8)]
NOT_REACHED = not_run("unreached"), f"the program had to be ended before it ran on {FRESH[-1].description}."
ROWS = {
    ranks.initialised: [(HOROVOD, crash(()), "ends before Horovod is initialised.")],
    ranks.pinned: [(HOROVOD, crash(), NO_MODEL)],
    ranks.memory_grows: [
        (HOROVOD, crash(), NO_MODEL),
        (HOROVOD, second(gpus=[]), "Rank 1 (2 ranks on one host) can see no GPU."),
    ],
    ranks.others_are_silent: [(HOROVOD, crash(), UNTRAINED)],
    ranks.same_work: [(HOROVOD, crash(), UNTRAINED)],
    updates.mean_gradient: [(HOROVOD, crash(ORDER), UNTRAINED)],
    updates.same_weights: [
        (HOROVOD, crash(ORDER), UNTRAINED),
        (HOROVOD, crash(ORDER, [fit(batches=[batch(None)])]), "does not get past the first batch."),
    ],
    epochs.training_steps: [
        (HOROVOD, crash(ORDER), UNTRAINED),
        (HOROVOD, (first(fits=[fit(1, steps=None)]), crash(ORDER, [fit(each=[epoch(1, 0)], steps=None)])), NO_EPOCH),
    ],
    epochs.validation_steps: [(HOROVOD, crash(ORDER, [fit(each=[epoch(4, 0)])]), NO_EPOCH)],
    epochs.mean_metrics: [(HOROVOD, crash(ORDER, [fit(each=[epoch(4, 0)], reads=[])]), NO_EPOCH)],
    staging.any_store: [
        (STAGING, lambda runs: runs.clusters.pop("three-ranks"), "had to be ended before it ran with URLs."),
        (STAGING, of("two-hosts", copied=0), "nothing is copied for --data-url, even where it is a path."),
        (STAGING, of("three-ranks", 1, order=[]), "does not reach its end where --data-url is a URL."),
        (STAGING, of("two-hosts", 0, left=disk(kept=[])), "nothing is copied for --train-url, even where it"),
    ],
    staging.reads_copy: [(STAGING, of("two-hosts", 1, cached=None), "Rank 1 (two-hosts) never reads an image.")],
    staging.error_printed: [(STAGING, *NOT_REACHED)],
    staging.all_end: [(STAGING, *NOT_REACHED)],
    staging.results: [
        (STAGING, of("two-hosts", 1, order=[]), "Rank 1 (two-hosts) does not train to its end."),
        (STAGING, of("two-hosts", error="odd", left=disk(kept=[]), order=[]), "does not train to its end (odd)."),
    ],
    staging.data_stay: [(STAGING, of("two-hosts", 1, order=[]), "the program does not reach training.")],
    resume.saved_each_epoch: [
        (PRODUCTION, of_epochs("two-hosts", 0, 1, saved=None), "Rank 0 (two-hosts) does not train to its end."),
    ],
    resume.renamed: [(PRODUCTION, tuple(NO_CHECKPOINT), "the program leaves no checkpoint.")],
    resume.one_writer: [
        (PRODUCTION, NO_CHECKPOINT[1], "Rank 0 (three-ranks) saves no checkpoint."),
        (PRODUCTION, of("two-hosts", 1, epochs=[]), "Rank 1 (two-hosts) does not train to its end."),
    ],
    resume.goes_on: [
        (PRODUCTION, *NEVER_ENDS),
        (PRODUCTION, *NOT_AGAIN),
        (PRODUCTION, of("resumed", 1, fits=[]), "Rank 1 (started again) does not reach training."),
        (PRODUCTION, of("resumed", 1, fits=[], error="Denied: no"), "Rank 1 (started again) does not reach training"),
    ],
    resume.state_restored: [
        (PRODUCTION, *NEVER_ENDS),
        (PRODUCTION, *NOT_AGAIN),
        (PRODUCTION, of("three-ranks", 0, end=None), "Rank 0 (three-ranks) does not train to its end."),
        (PRODUCTION, of("resumed", 0, fits=[]), "Rank 0 (started again) does not reach training."),
    ],
    resume.loaded_everywhere: [(PRODUCTION, *NEVER_ENDS), (PRODUCTION, *NOT_AGAIN)],
    rate.full_rate: [
        (PRODUCTION, of_rates("two-hosts", LONGER), "the learning rate of Rank 0 (two-hosts) is still rising"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "made", "change", "message"), rows(ROWS))
def test_what_is_not_seen_is_said(check, made, change, message):
    made.is_not_checked(check, change, message)


@pytest.mark.parametrize("ended", [ERROR, {"ended_for": "stall"}])
def test_a_host_without_gpus_is_not_checked_where_ranks_end_elsewhere_too_or_had_to_be_ended(ended):
    blind = [rank(number, gpus=[]) for number in range(2)]
    crashed = [rank(number, [], ["init"], [], **ended) for number in range(2)]
    expected = Runs(HOROVOD.solved().clusters | runs(*blind, gpus=False).clusters)
    mine = Runs(runs(rank(0), crashed[1]).clusters | runs(*crashed, gpus=False).clusters)
    found = find(ranks.without_gpus, mine, expected, HOROVOD.source)
    assert type(found) is Untold and "before it builds a model." in found.message
