"""Checks of all parts where ranks report less than they should: none breaks or passes, and each says why."""

from copy import deepcopy

import pytest

from grader.checks import (
    allreduce,
    elastic,
    evaluator,
    faster,
    horovod,
    launch_script,
    multi_worker,
    parameter_server,
    prediction,
    production,
    scheduled,
)
from grader.checks.horovod import epochs, ranks, updates
from grader.checks.multi_worker import batches, restart, workers
from grader.checks.production import rate, resume, staging
from grader.checks.production.imagenet_resnet50 import FRESH
from grader.terms.clusters import BASE_LR
from grader.terms.facts import Batch, Disk, Epoch, Input
from grader.terms.findings import Untold
from grader.terms.runs import Runs
from grader.terms.watched_facts import SeenRun
from tests.grader.checks.made_up import find, of, rows
from tests.grader.checks.made_up_allreduce import ALLREDUCE
from tests.grader.checks.made_up_coordinator import COORDINATOR, chief, ended_early
from tests.grader.checks.made_up_evaluator import EVALUATOR, FAILED, NOTHING, WAITED, late
from tests.grader.checks.made_up_faster import FASTER
from tests.grader.checks.made_up_horovod import ERROR, HOROVOD, ORDER, batch, epoch, first, fit, rank, runs, second
from tests.grader.checks.made_up_hosts import ELASTIC, JOB, LAUNCH, of_ranks
from tests.grader.checks.made_up_prediction import PREDICTION
from tests.grader.checks.made_up_production import PRODUCTION, STEPS, of_epochs, of_rates
from tests.grader.checks.made_up_staging import STAGING, disk
from tests.grader.checks.made_up_workers import WORKERS, other

# Of these, there are tests of their own: they need hosts without GPUs, or gradients.
ELSEWHERE = ranks.without_gpus, ranks.enough_gpus, updates.mean_gradient
SUITES = {
    "horovod": (HOROVOD, [check for check in horovod.part.checks if check.judge not in ELSEWHERE]),
    "staging": (STAGING, production.part.of(8)),
    "production": (PRODUCTION, [*production.part.of(10), *production.part.of(11)]),
    "multi_worker": (WORKERS, multi_worker.part.checks),
    "parameter_server": (COORDINATOR, parameter_server.part.checks),
    "evaluator": (EVALUATOR, evaluator.part.checks),
    "launch_script": (LAUNCH, launch_script.part.checks),
    "scheduled": (JOB, scheduled.part.checks),
    "elastic": (ELASTIC, elastic.part.checks),
    "allreduce": (ALLREDUCE, allreduce.part.checks),
    "prediction": (PREDICTION, prediction.part.checks),
    "faster": (FASTER, faster.part.checks),
}
every_suite = pytest.mark.parametrize(("made", "checks"), SUITES.values(), ids=SUITES)


def judge(made, checks, less):
    """Return the functions of the checks that pass, of those that are judged: those they need have passed."""
    passed, known = [], {check.judge for check in checks}
    for check in checks:
        judged = all(needed in passed for needed in check.needs if needed in known)
        if judged and check.judge(less, made.solved(), made.source) is None:
            passed.append(check.judge)
    return passed


@every_suite
def test_what_is_right_passes(made, checks):
    assert judge(made, checks, made.solved()) == [check.judge for check in checks]


LESS = [
    {"fits": []},
    {"epochs": [], "batches": []},
    {"epochs": [Epoch(1)], "batches": [Batch(BASE_LR, None, None, [1.0])], "end": None, "schedule": {}},  # half a batch
    {"epochs": [Epoch(STEPS)], "schedule": {}},
    {"files": None},
    {"evaluations": [], "evaluated": [], "order": []},
    {"runs": []},
    {"attempts": []},
    {"presence": [], "happened": None, "commits": [], "uses": []},
]


def cut_short(made):
    """Yield runs of which a rank reports less, or of which a cluster that one check alone judges is missing."""
    right = made.solved()
    for name, ranks_of_it in (right.clusters | right.reserved).items():
        for number, one in enumerate(ranks_of_it):
            holders = one, one.facts, *getattr(one.facts, "fits", [])[:1]
            known = [values for values in LESS if all(any(hasattr(each, key) for each in holders) for key in values)]
            for values in (*known, {"facts": type(one.facts)()}):
                less = made.solved()
                of(name, number, **deepcopy(values))(less)
                yield less
        if name in right.reserved and hasattr(ranks_of_it[0].facts, "fits"):  # a watcher runs all clusters at once
            less = made.solved()
            del less.reserved[name]
            yield less


@every_suite
def test_whatever_a_rank_does_not_report_no_check_breaks(made, checks):
    for less in cut_short(made):
        judge(made, checks, less)


@pytest.mark.parametrize("check", SUITES["production"][1], ids=lambda check: check.judge.__name__)
def test_what_no_rank_shows_is_not_checked(check):
    PRODUCTION.is_not_checked(check.judge, (of("two-hosts", fits=[]), of("three-ranks", fits=[])), "")


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
WORKER_CRASHES = other(error="ValueError", end=None), "worker 1 (two workers) ends before it has trained"
NOTHING_FOUND = tuple(of(name, found=Disk()) for name in ("two-workers", "three-workers", "killed", "restarted"))
NO_FUNCTION = "gives fit() no function of a context"
NOT_LATE = not_run("late"), "Evaluator (next to a training) was not started again after the training"
WAITS = {"order": ["tf_config", "wait"]}
ON_HOSTS = {
    "uneven": [launch_script.arguments, launch_script.variables, launch_script.network, launch_script.staged],
    "failing": [launch_script.status],
    "cut": [launch_script.lost],
}
ON_NODES = {
    "steady": [scheduled.arguments, scheduled.network, scheduled.staged, scheduled.checkpoints],
    "failing": [scheduled.status],
    "moved": [scheduled.requeued],
    "limit": [scheduled.signal],
}


def not_started(cluster):
    return of(cluster, ranks=[], met=False)


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
    workers.strategy_first: [
        (WORKERS, other(strategies=[], error="ValueError"), "worker 1 (two workers) ends before it makes its strategy"),
    ],
    workers.in_scope: [(WORKERS, *WORKER_CRASHES)],
    batches.restored: [
        (WORKERS, *WORKER_CRASHES),
        (WORKERS, NOTHING_FOUND, "the killed workers leave no checkpoint that could be loaded"),
    ],
    batches.chief_reports: [(WORKERS, *WORKER_CRASHES)],
    restart.thrown_away: [(WORKERS, other(fits=[]), "worker 1 (two workers) ends before it trains")],
    restart.one_backup: [(WORKERS, other(fits=[]), "worker 1 (two workers) ends before it trains")],
    restart.resumed: [
        (WORKERS, of("killed", 0, fits=[]), "the workers that one is killed of do not start to train"),
        (WORKERS, of("killed", 0, epochs=[]), "the workers that one is killed of do not train for an epoch"),
        (WORKERS, not_run("restarted"), "after a worker was killed, the program was not started again"),
    ],
    parameter_server.tf_config: [(COORDINATOR, ended_early, "ends too early")],
    parameter_server.role: [
        (COORDINATOR, chief(order=["tf_config"]), "ends too early"),
        (COORDINATOR, not_run("roles"), "was not started as another task"),
    ],
    parameter_server.gpus: [(COORDINATOR, ended_early, "ends too early")],
    parameter_server.strategy: [
        (COORDINATOR, ended_early, "makes no strategy"),
        (COORDINATOR, chief(strategies=[], fits=[], error="no"), "fails before the strategy is made"),
        (COORDINATOR, chief(parts=[(256, 1)], error="no"), "the strategy's partitioner fails"),
    ],
    parameter_server.batch_size: [
        (COORDINATOR, ended_early, NO_FUNCTION),
        (COORDINATOR, chief(data="function", input=None), NO_FUNCTION),
        (COORDINATOR, chief(input=Input([], [], []), error="no"), "the input function makes no data"),
    ],
    parameter_server.images: [
        (COORDINATOR, ended_early, NO_FUNCTION),
        (COORDINATOR, chief(data="function", input=None), NO_FUNCTION),
        (COORDINATOR, chief(input=Input([], [], []), error="no"), "the input function makes no data"),
    ],
    parameter_server.scope: [(COORDINATOR, ended_early, "never calls model.fit")],
    parameter_server.backup: [
        (COORDINATOR, ended_early, "cannot be interrupted: it does not get that far"),
        (COORDINATOR, of("killed", exit=0), "cannot be interrupted: it does not get that far"),
        (COORDINATOR, chief(steps_per_epoch=13), "number of steps in an epoch, so it is not killed in epoch 2"),
    ],
    parameter_server.creator: [(COORDINATOR, ended_early, "never calls model.fit")],
    parameter_server.unchanged: [
        (COORDINATOR, ended_early, "never calls model.fit"),
        (COORDINATOR, chief(error="ValueError: no"), "does not run to its end on the cluster"),
        (COORDINATOR, chief(strategy="_DefaultDistributionStrategy"), "does not run to its end on the cluster"),
    ],
    evaluator.role: [(EVALUATOR, FAILED, "ends too early")],
    **{
        check: [(EVALUATOR, FAILED, "Evaluator (next to a training) evaluates nothing")]
        for check in (evaluator.gpus, evaluator.each, evaluator.images, evaluator.curve)
    },
    evaluator.ends: [
        (EVALUATOR, FAILED, "Evaluator (next to a training) evaluates nothing"),
        (EVALUATOR, of("evaluator", error="ValueError: no"), "Evaluator (next to a training) fails"),
    ],
    evaluator.number: [
        (EVALUATOR, FAILED, "Evaluator (next to a training) fails"),
        (EVALUATOR, late(0, **NOTHING | WAITS), "Evaluator 0 (after a training) evaluates nothing"),
        (EVALUATOR, *NOT_LATE),
    ],
    evaluator.flag: [
        (EVALUATOR, FAILED, "Evaluator (next to a training) fails"),
        (EVALUATOR, late(0, 1, **WAITED), "Evaluator 1 (after a training) ends by no checkpoint's number"),
        (EVALUATOR, *NOT_LATE),
    ],
    launch_script.ranks: [(LAUNCH, not_started("uneven"), "no rank was started (uneven)")],
    launch_script.none_without: [(LAUNCH, of_ranks("uneven", copied="none"), "not every host has a copy of the data")],
    **{
        check: [(LAUNCH, not_started(name), f"the ranks never exchanged data ({name})")]
        for name, checks in ON_HOSTS.items()
        for check in checks
    },
    scheduled.ranks: [(JOB, of("steady", runs=[SeenRun(["adam"])]), "no rank was started (steady)")],
    **{
        check: [(JOB, of(name, runs=[SeenRun(["adam"])]), f"the ranks never exchanged data ({name})")]
        for name, checks in ON_NODES.items()
        for check in checks
    },
    elastic.survives: [(ELASTIC, of("dies", happened=None), f"exchange no gradients ({elastic.DIES.description})")],
    elastic.grows: [(ELASTIC, of("joins", happened=None), f"exchange no gradients ({elastic.JOINS.description})")],
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
