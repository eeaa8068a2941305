"""What the checks of step 15 say of a script that does not get far enough to show what is asked for."""

import pytest

from grader.checks import parameter_server as checks
from grader.terms.facts import Input
from grader.terms.findings import Untold
from tests.grader.checks.made_up_coordinator import WHERE, chief, ended_early, fact, fit, found

CRASHED = chief(error="ValueError: no")
NO_FIT, NO_FUNCTION = "never calls model.fit", "gives fit() no function of a context"
TOO_EARLY, UNINTERRUPTED = "ends too early", "cannot be interrupted: it does not get that far"


def both(*changes):
    """Return these changes as one."""
    return lambda runs, facts: [change(runs, facts) for change in changes]


@pytest.mark.parametrize(
    ("check", "change", "message"),
    [
        (checks.tf_config, ended_early, TOO_EARLY),
        (checks.role, fact(order=["tf_config"]), TOO_EARLY),
        (checks.role, lambda runs, facts: runs.reserved.pop("roles"), "was not started as another task"),
        (checks.gpus, ended_early, TOO_EARLY),
        (checks.strategy, ended_early, "makes no strategy"),
        (
            checks.strategy,
            both(fact(strategies=[], fits=[]), CRASHED),
            "fails before the strategy is made",
        ),
        (checks.batch_size, ended_early, NO_FUNCTION),
        (checks.batch_size, fit(data="function", input=None), NO_FUNCTION),
        (checks.images, ended_early, NO_FUNCTION),
        (checks.images, fit(data="function", input=None), NO_FUNCTION),
        (checks.scope, ended_early, NO_FIT),
        (checks.backup, ended_early, UNINTERRUPTED),
        (checks.backup, lambda runs, facts: setattr(runs.reserved["killed"][0], "exit", 0), UNINTERRUPTED),
        (
            checks.backup,
            fit(steps_per_epoch=13),
            "has another number of steps in an epoch, so it is not killed in epoch 2",
        ),
        (checks.creator, ended_early, NO_FIT),
        (checks.unchanged, ended_early, NO_FIT),
        (checks.unchanged, CRASHED, "does not run to its end on the cluster"),
        (
            checks.unchanged,
            fit(strategy="_DefaultDistributionStrategy"),
            "does not run to its end on the cluster",
        ),
    ],
)
def test_what_was_not_seen_is_not_checked(check, change, message):
    finding = found(check, change)
    assert type(finding) is Untold and finding.message == f"Not checked: {WHERE} {message}."


@pytest.mark.parametrize(
    ("check", "change", "message"),
    [
        (
            checks.strategy,
            fact(parts=[(256, 1)]),
            "the strategy's partitioner fails",
        ),
        (checks.batch_size, fit(input=Input([], [], [])), "the input function makes no data"),
        (checks.images, fit(input=Input([], [], [])), "the input function makes no data"),
    ],
)
def test_what_may_follow_from_the_script_s_own_failure_is_not_checked(check, change, message):
    finding = found(check, both(change, CRASHED))
    assert type(finding) is Untold and finding.seen == f"{WHERE}: {message}"
