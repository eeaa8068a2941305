"""The checks of step 20, on made-up facts: what each one says, and what it leaves open."""

import pytest

from course.steps import get
from grader.checks import elastic as checks
from grader.reading import parsing
from grader.terms.findings import Finding, Untold
from grader.terms.runs import Rank, Runs
from grader.terms.watched_facts import ElasticFacts, Logged, Presence

SOURCE = parsing.read(get(20).solution.read_text())
BEFORE = {"joins": {"onyx": 1, "mica": 1}, "dies": {"opal": 1, "jade": 2}}
AFTER = {"joins": {"onyx": 1, "mica": 1, "ruby": 1}, "dies": {"jade": 2}}
CLUSTERS = {"joins": checks.JOINS, "dies": checks.DIES}
USES = [2.99] * 200 + [3.01] * 40


def trained(name):
    """Return what the solution does on a cluster."""
    presence = [Presence(1.0, BEFORE[name]), Presence(20.0, AFTER[name]), Presence(30.0, {})]
    commits = [Logged(2, epoch, seen) for epoch in range(3) for seen in (48, 96, 144, 192, 240)]
    return ElasticFacts(presence, 12.0, 80_000_000, 30.0, commits, list(USES))


def solved():
    """Return the runs of the solution."""
    ranks = {
        name: [Rank(0, 0, "The script", cluster.description, 0, None, "", "", "", trained(name), reported=True)]
        for name, cluster in CLUSTERS.items()
    }
    return Runs({"joins": ranks.pop("joins")}, ranks)


def found(check, name, exit_status=0, ended_for=None, stdout="", **changes):
    """Return what a check finds where a cluster's run is changed."""
    runs = solved()
    ran = (runs.clusters | runs.reserved)[name][0]
    ran.exit, ran.ended_for, ran.stdout = exit_status, ended_for, stdout
    for field, value in changes.items():
        setattr(ran.facts, field, value)
    return check(runs, solved(), SOURCE)


def test_the_solution_passes_each_check():
    for check in checks.part.checks:
        assert check.judge(solved(), solved(), SOURCE) is None
    assert checks.part.ended(solved(), 20, 60, SOURCE.text).status == "passed"


LOG = trained("joins").commits


@pytest.mark.parametrize(
    ("check", "name", "changes", "said"),
    [
        (
            checks.survives,
            "dies",
            {
                "exit_status": 1,
                "uses": [],
                "stdout": "[1]<stderr>:a.b.HorovodInternalError: Read error\n[0]<stdout>:text",
            },
            "ended with status 1, 18 s later. Expected: it continues. It printed: a.b.HorovodInternalError: Read error",
        ),
        (
            checks.survives,
            "dies",
            {"ended_for": "time", "exit_status": 1},
            "did not end: it was ended 18 s later. Expected: it continues, and ends.",
        ),
        (
            checks.survives,
            "dies",
            {"uses": []},
            "without a model that can be read. Expected: model.keras in --log-dir.",
        ),
        (
            checks.survives,
            "dies",
            {"uses": [1.0] * 240, "commits": LOG[:6]},
            "ended in epoch 2. Expected: it ends after epoch 3",
        ),
        (checks.grows, "joins", {"presence": [Presence(1.0, BEFORE["joins"])]}, "no rank started on ruby. Expected"),
        (checks.grows, "joins", {"received": 1_000_000}, "1 MB arrived at the first host. Expected: 80 MB"),
        (
            checks.grows,
            "joins",
            {"astray": 75},
            "75 of 240 images moved the weights in other directions than the gradients of rank 0's weights say",
        ),
        (checks.grows, "joins", {"ended_for": "time", "exit_status": 1}, "did not end"),
        (checks.rate, "dies", {"uses": [3.5] * 120 + [4.0] * 120}, "120 of 240 images moved the weights 3.50 times as"),
        (checks.rate, "joins", {"uses": [1.5] * 240}, "240 of 240 images moved the weights 1.50 times as far"),
        (checks.rate, "dies", {"uses": [2.76] * 240}, "Expected: 3 times, once per epoch, with --momentum, and at a"),
        (
            checks.once,
            "dies",
            {"uses": [4.0] * 20 + [2.0] * 10 + [3.0] * 210},
            "20 of 240 images were used more than 3",
        ),
        (checks.once, "joins", {"uses": [2.0] * 1 + [3.0] * 239}, "and 1 less often"),
        (
            checks.commits,
            "joins",
            {"commits": LOG[:1] + LOG[2:]},
            "no line for a commit of epoch 1, before the one after 144 images (2 hosts, and a third one joins)",
        ),
        (
            checks.commits,
            "joins",
            {"commits": [Logged(2, epoch, seen) for epoch in range(3) for seen in range(12, 241, 12)]},
            "commits.csv has 60 lines (2 hosts, and a third one joins). Expected: some 15, one after every",
        ),
        (checks.commits, "joins", {"commits": LOG[4::5]}, "commits.csv has 3 lines"),
        (
            checks.commits,
            "dies",
            {"commits": [*LOG[:3], Logged(2, 0, 32), *LOG[1:]]},
            "After a host died, commits.csv has a line of epoch 1 after 32 images, where it had got further two lines",
        ),
        (checks.commits, "joins", {"commits": []}, "commits.csv has 0 lines"),
        (
            checks.commits,
            "dies",
            {"commits": [each for each in LOG for _ in range(2)]},
            "commits.csv has a line of epoch 1 after 48 images where it had got that far before (2 hosts with 1 and 2 "
            "slots, and the first one, with rank 0, dies). Expected: each commit once, logged by rank 0 alone.",
        ),
        (
            checks.commits,
            "joins",
            {"commits": [each for each in LOG if each.seen < 240]},
            "no commit at the end of 3 epochs",
        ),
    ],
)
def test_a_finding_says_what_was_seen(check, name, changes, said):
    finding = found(check, name, **changes)
    assert said in finding.message and type(finding) is Finding and finding.expected


def test_where_an_error_stays_what_it_is_the_step_is_at_fault():
    runs = solved()
    (ran,) = runs.reserved["dies"]
    ran.exit = 1
    for text, at in (
        (SOURCE.text, "raise HorovodInternalError("),
        (SOURCE.text.replace("raise Horovod", "pass  #"), "loss = train_step"),
    ):
        source = parsing.read(text)
        outcome = checks.part.checks[0].decide(checks.survives(runs, solved(), source), source)
        assert text.splitlines()[outcome.line - 1].strip().startswith(at)


@pytest.mark.parametrize(
    ("ended", "how"),
    [
        ({"exit": 1}, "ended with status 1"),
        ({"exit": 1, "ended_for": "time"}, "was ended after a while"),
    ],
)
def test_a_training_that_exchanges_nothing_is_no_training(ended, how):
    for check, cluster in ((checks.survives, checks.DIES), (checks.grows, checks.JOINS)):
        finding = found(check, cluster.name, happened=None)
        assert finding == Untold(seen=f"the ranks exchange no gradients ({cluster.description})")
    for name, what in (("joins", "join"), ("dies", "die")):
        runs = solved()
        (ran,) = (runs.clusters | runs.reserved)[name]
        ran.facts.happened = None
        ran.stdout = "[1]<stderr>:NameError: name 'state' is not defined\n[0]<stderr>:UnknownError: the other one\n"
        for field, value in ended.items():
            setattr(ran, field, value)
        outcome = checks.part.ended(runs, 20, 60, SOURCE.text)
        assert outcome.status == "failed" and outcome.message == (
            f"The ranks exchange no gradients ({CLUSTERS[name].description}): the training {how}, before a host could "
            f"{what}. Expected: the ranks train together. It printed: NameError: name 'state' is not defined"
        )


@pytest.mark.parametrize("again", [(0, 144), (0, 128)])
def test_the_last_line_before_a_death_may_be_without_its_commit(again):
    assert not found(checks.commits, "dies", commits=[*LOG[:3], Logged(2, *again), *LOG[3:]])
