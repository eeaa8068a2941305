"""The checks of step 16, on made-up facts: what each one says of an evaluator that lacks what is asked for."""

import pytest

from grader.checks import evaluator as checks
from grader.terms.facts import ARGUMENTS
from tests.grader.checks.made_up import rows
from tests.grader.checks.made_up_evaluator import (
    EVALUATOR,
    FAILED,
    LATE,
    NOTHING,
    WAITED,
    WEIGHTS,
    WHERE,
    late,
    other,
    own,
)

EXITS = {"order": ["tf_config"], "error": "no evaluator", "error_kind": "SystemExit", "error_line": 25}
LOOKS = {"causes": frozenset({"no checkpoint"}), "error": "There is no checkpoint"}
NO_FLAG = {"error": "unrecognized arguments: --max-evaluations 2", "error_kind": ARGUMENTS}
TYPE_ERROR = {"error": "TypeError: '<=' not supported", "error_kind": "TypeError", "error_line": 41}
ENDS = f"{WHERE} has --epochs 3 and no --max-evaluations. It "
WRONG = {
    checks.tf_config: [(own(order=["evaluate"]), 40, "evaluates on line 40, and never calls tf_config.check().")],
    checks.role: [
        (own(**EXITS), 25, f"{WHERE} exits on line 25: no evaluator. Expected: it does its work"),
        (other(0, order=["tf_config", "wait"], lines={"wait": 40}), 40, "of the chief, the script waits on line 40."),
        (other(1, error_line=36, **LOOKS), 36, "of a parameter server, the script looks for checkpoints on line 36."),
    ],
    checks.gpus: [(own(gpus=[0, 1]), 2, "can see GPU 0, 1 when it starts to work, on which others train.")],
    checks.each: [
        (own(newest=[3, 3, 3]), 40, "evaluates its first checkpoint when all 3 are there, though there was time"),
        (own(evaluations=[], error_line=44, **LOOKS), 44, "ends because there is no checkpoint yet."),
        (own(evaluations=[], order=["tf_config", "wait"], lines={"wait": 42}), 42, "waits and finds no checkpoint."),
        (own(evaluations=[[5.0, 5.0]]), 40, "evaluates, but not the weights of any checkpoint."),
        (own(evaluations=WEIGHTS[2:]), 40, "evaluates only the last of 3 checkpoints, though there was"),
        (own(evaluations=[WEIGHTS[0], WEIGHTS[2]]), 40, "evaluates checkpoints 1 and 3 of 3, though there was time"),
        (own(**NOTHING), 40, f"{WHERE} evaluates nothing. Expected: each checkpoint, as it appears."),
    ],
    checks.ends: [
        (own(evaluations=[[5.0, 5.0]]), 4, f"{ENDS}ends after weights that are in no checkpoint."),
        (own(**WAITED), 4, f"{ENDS}does not end after checkpoint 3."),
        (own(evaluations=WEIGHTS[:1]), 4, f"{ENDS}ends after checkpoint 1."),
    ],
    checks.number: [(late(0, **WAITED), 4, "when 3 checkpoints are there already, waits after 1 evaluation")],
    checks.flag: [
        (late(1, **NO_FLAG), 3, f"Evaluator 1 ({LATE}), with --max-evaluations 2: unrecognized arguments: --max-eval"),
        (late(1, **WAITED), 4, "with --max-evaluations 2 and --epochs 9, does not end after checkpoint 3."),
        (late(2, order=["tf_config", "evaluate"]), 4, "with --max-evaluations 4, ends after checkpoint 3."),
        (late(1, **TYPE_ERROR), 41, f"Evaluator 1 ({LATE}) fails: TypeError: '<=' not supported."),
    ],
    checks.images: [
        (own(evaluated=[[3, 1], [3, 1], [3, 1]]), 4, "an evaluation is over 2 images. Expected: the 3 val"),
        (own(evaluated=[[3, 8, 9]]), 4, "an evaluation is over 3 images, 1 of them validation images."),
    ],
    checks.curve: [
        (own(points=0), None, "3 evaluations, and 0 values in TensorBoard's logs."),
        (own(logs=[]), 4, "TensorBoard's callback writes no logs below --log-dir."),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "line", "message"), rows(WRONG))
def test_what_is_wrong_is_said_with_its_line(check, change, line, message):
    assert EVALUATOR.fails(check, change, message).line == line


def test_tf_config_is_checked_though_nothing_is_evaluated():
    assert EVALUATOR.find(checks.tf_config, FAILED) is None


def test_an_evaluator_that_is_made_and_never_started_explains_why_the_program_fails():
    assert EVALUATOR.find(checks.each, own(**NOTHING)).explains
