"""The checks of step 16, on made-up facts: what each one says, and what it leaves open."""

import copy

import pytest

from grader.checks import evaluator as checks
from grader.reading import parsing
from grader.terms.facts import ARGUMENTS, Checkpoint, TaskFacts
from grader.terms.findings import Finding, Untold
from grader.terms.runs import Rank, Runs

SOURCE = parsing.read("resolver.task_type\nset_visible_devices()\nparse_args()\nSidecarEvaluator(steps=1)\n")
WHERE, LATE = "Evaluator (next to a training)", "after a training"
WEIGHTS = [[1.0, 2.0], [1.0, 2.001], [1.0, 2.002]]  # of each checkpoint


def rank(name, facts, cluster, exit_status=0):
    return Rank(0, 0, name, cluster, exit_status, None, "", "", "", facts, reported=True)


def evaluated(weights):
    """Return what an evaluator does that has evaluated these weights."""
    return TaskFacts(
        order=["tf_config", "evaluate"],
        lines={"tf_config": 20, "evaluate": 40},
        evaluations=weights,
        evaluated=[[3, 1, 2] for _ in weights],
        checkpoints=[Checkpoint(number, each) for number, each in enumerate(WEIGHTS, start=1)],
        logs=["left/evaluator/events"],
        newest=list(range(1, len(weights) + 1)),
        points=2 * len(weights),
    )


def solved():
    """Return the runs of a solution."""
    late = [rank(f"Evaluator {number}", evaluated(WEIGHTS[2:]), LATE) for number in range(3)]
    late[2].facts.order.append("wait")
    others = [rank(name, TaskFacts(order=["tf_config"]), "another task's TF_CONFIG", 1) for name in ("Chief", "Ps")]
    return Runs(
        {"evaluator": [rank("Evaluator", evaluated(WEIGHTS), "next to a training")]},
        {"late": late, "roles": others},
        traffic=1000,
    )


def found(check, change=lambda runs: None):
    """Return what a check finds in runs that are changed."""
    right = solved()
    runs = copy.deepcopy(right)
    change(runs)
    return check(runs, right, SOURCE)


def own(**changes):
    """Return a change of what the evaluator next to a training does, or of how it ends."""
    return lambda runs: _change(runs.clusters["evaluator"][0], changes)


def late(number, **changes):
    """Return a change of an evaluator that starts late."""
    return lambda runs: _change(runs.reserved["late"][number], changes)


def other(number, **changes):
    """Return a change of the script as another task."""
    return lambda runs: _change(runs.reserved["roles"][number], changes)


def both(*changes):
    return lambda runs: [change(runs) for change in changes]


def _change(rank, changes):
    for name, value in changes.items():
        setattr(rank if hasattr(rank, name) else rank.facts, name, value)


NOTHING = {"order": ["tf_config"], "evaluations": [], "evaluated": [], "logs": []}
ERROR = {"error": "ValueError: no", "error_kind": "ValueError"}
FAILED = both(own(**NOTHING, **ERROR), late(0, **ERROR), late(1, **ERROR))
WAITED = {"order": ["tf_config", "evaluate", "wait"], "error": "it would wait indefinitely", "error_kind": "SystemExit"}
ALL = [check.judge for check in checks.part.checks]


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_the_solution_passes(check):
    assert found(check) is None


@pytest.mark.parametrize(
    ("check", "change", "message", "line"),
    [
        (
            checks.tf_config,
            own(order=["evaluate"]),
            f"{WHERE} evaluates on line 40, and never calls tf_config.check(). Expected: a call before that.",
            40,
        ),
        (
            checks.role,
            own(order=["tf_config"], error="no evaluator", error_kind="SystemExit", error_line=25),
            f"{WHERE} exits on line 25: no evaluator. Expected: it does its work, since TF_CONFIG says that it is an "
            "evaluator.",
            25,
        ),
        (
            checks.role,
            other(0, order=["tf_config", "wait"], lines={"wait": 40}),
            "Started with the TF_CONFIG of the chief, the script waits on line 40. Expected: it ends before that, "
            "since it is not an evaluator.",
            40,
        ),
        (
            checks.role,
            other(1, causes=frozenset({"no checkpoint"}), error="There is no checkpoint", error_line=36),
            "Started with the TF_CONFIG of a parameter server, the script looks for checkpoints on line 36. Expected: "
            "it ends before that, since it is not an evaluator.",
            36,
        ),
        (
            checks.each,
            own(newest=[3, 3, 3]),
            f"{WHERE} evaluates its first checkpoint when all 3 are there, though there was time for each. Expected: "
            "each checkpoint, as it appears.",
            40,
        ),
        (
            checks.gpus,
            own(gpus=[0, 1]),
            f"{WHERE} can see GPU 0, 1 when it starts to work, on which others train. Expected: none.",
            2,
        ),
        (
            checks.each,
            own(evaluations=[], error="There is no checkpoint", causes=frozenset({"no checkpoint"}), error_line=44),
            f"{WHERE} ends because there is no checkpoint yet. Expected: it waits for them.",
            44,
        ),
        (
            checks.each,
            own(evaluations=[], order=["tf_config", "wait"], lines={"wait": 42}),
            f"{WHERE} waits and finds no checkpoint. Expected: it finds the 3 that the training saves in checkpoints, "
            "below --log-dir.",
            42,
        ),
        (
            checks.each,
            own(evaluations=[[5.0, 5.0]]),
            f"{WHERE} evaluates, but not the weights of any checkpoint. Expected: it loads each checkpoint.",
            40,
        ),
        (
            checks.each,
            own(evaluations=WEIGHTS[2:]),
            f"{WHERE} evaluates only the last of 3 checkpoints, though there was time for each. Expected: each "
            "checkpoint, as it appears.",
            40,
        ),
        (
            checks.each,
            own(evaluations=[WEIGHTS[0], WEIGHTS[2]]),
            f"{WHERE} evaluates checkpoints 1 and 3 of 3, though there was time for each. Expected: each checkpoint, "
            "as it appears.",
            40,
        ),
        (
            checks.ends,
            own(evaluations=[[5.0, 5.0]]),
            f"{WHERE} has --epochs 3 and no --max-evaluations. It ends after weights that are in no checkpoint. "
            "Expected: after checkpoint 3.",
            4,
        ),
        (
            checks.ends,
            own(**WAITED),
            f"{WHERE} has --epochs 3 and no --max-evaluations. It does not end after checkpoint 3. Expected: it ends "
            "by itself then.",
            4,
        ),
        (
            checks.ends,
            own(evaluations=WEIGHTS[:1]),
            f"{WHERE} has --epochs 3 and no --max-evaluations. It ends after checkpoint 1. Expected: after "
            "checkpoint 3.",
            4,
        ),
        (
            checks.number,
            late(0, **WAITED),
            f"Evaluator 0 ({LATE}), when 3 checkpoints are there already, waits after 1 evaluation, with --epochs 3. "
            "Expected: it ends after the checkpoint with that number, however many it has skipped.",
            4,
        ),
        (
            checks.flag,
            late(1, error="unrecognized arguments: --max-evaluations 2", error_kind=ARGUMENTS),
            f"Evaluator 1 ({LATE}), with --max-evaluations 2: unrecognized arguments: --max-evaluations 2. Expected: a "
            "flag of this name.",
            3,
        ),
        (
            checks.flag,
            late(1, **WAITED),
            f"Evaluator 1 ({LATE}), with --max-evaluations 2 and --epochs 9, does not end after checkpoint 3. "
            "Expected: it ends then.",
            4,
        ),
        (
            checks.flag,
            late(2, order=["tf_config", "evaluate"]),
            f"Evaluator 2 ({LATE}), with --max-evaluations 4, ends after checkpoint 3. Expected: it waits for one with "
            "that number.",
            4,
        ),
        (
            checks.flag,
            late(1, error="TypeError: '<=' not supported", error_kind="TypeError", error_line=41),
            f"Evaluator 1 ({LATE}) fails: TypeError: '<=' not supported. Expected: it ends by itself.",
            41,
        ),
        (
            checks.images,
            own(evaluated=[[3, 1], [3, 1], [3, 1]]),
            f"{WHERE}: an evaluation is over 2 images. Expected: the 3 validation images, each of them once.",
            4,
        ),
        (
            checks.images,
            own(evaluated=[[3, 8, 9]]),
            f"{WHERE}: an evaluation is over 3 images, 1 of them validation images. Expected: the 3 validation images, "
            "each of them once.",
            4,
        ),
        (
            checks.curve,
            own(points=0),
            f"{WHERE}: 3 evaluations, and 0 values in TensorBoard's logs. Expected: a curve of the evaluations.",
            None,
        ),
        (
            checks.curve,
            own(logs=[]),
            f"{WHERE} evaluates, and TensorBoard's callback writes no logs below --log-dir. Expected: a curve of the "
            "evaluations.",
            4,
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(check, change, message, line):
    outcome = next(each for each in checks.part.checks if each.judge is check).decide(found(check, change), SOURCE)
    assert (outcome.message, outcome.line, outcome.status) == (message, line, "failed")


def test_tf_config_is_checked_though_nothing_is_evaluated():
    assert found(checks.tf_config, FAILED) is None


NOT_STARTED = f"{WHERE} was not started again after the training"


@pytest.mark.parametrize(
    ("check", "change", "message"),
    [
        (checks.role, FAILED, f"{WHERE} ends too early"),
        *(
            (check, FAILED, f"{WHERE} evaluates nothing")
            for check in (checks.gpus, checks.each, checks.ends, checks.images, checks.curve)
        ),
        (checks.ends, own(**ERROR), f"{WHERE} fails"),
        (checks.number, FAILED, f"{WHERE} fails"),
        (checks.flag, FAILED, f"{WHERE} fails"),
        (
            checks.number,
            late(0, **NOTHING | {"order": ["tf_config", "wait"]}),
            f"Evaluator 0 ({LATE}) evaluates nothing",
        ),
        (
            checks.flag,
            both(late(0, **WAITED), late(1, **WAITED)),
            f"Evaluator 1 ({LATE}) ends by no checkpoint's number",
        ),
        (checks.number, lambda runs: runs.reserved.pop("late"), NOT_STARTED),
        (checks.flag, lambda runs: runs.reserved.pop("late"), NOT_STARTED),
    ],
)
def test_what_was_not_seen_is_not_checked(check, change, message):
    finding = found(check, change)
    assert type(finding) is Untold and finding.message == f"Not checked: {message}."


def test_an_evaluator_that_is_made_and_never_started_fails():
    finding = found(checks.each, own(**NOTHING))
    assert finding.message == f"{WHERE} evaluates nothing. Expected: each checkpoint, as it appears."
    assert finding.explains and type(finding) is Finding
