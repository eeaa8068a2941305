"""The checks of step 20, on made-up facts: what each one says of a training that lacks what is asked for."""

import pytest

from grader.checks import elastic as checks
from grader.reading import parsing
from grader.terms.watched_facts import Logged, Presence
from tests.grader.checks.made_up import find, of, rows
from tests.grader.checks.made_up_hosts import BEFORE, CLUSTERS, ELASTIC, LOG, dies, joins

BROKEN = {"exit": 1, "uses": [], "stdout": "[1]<stderr>:a.b.HorovodInternalError: Read error\n[0]<stdout>:text"}
HANGS = {"exit": 1, "ended_for": "time"}
EACH_STEP = [Logged(2, epoch, seen) for epoch in range(3) for seen in range(12, 241, 12)]
TWICE, BACK = [each for each in LOG for _ in range(2)], [*LOG[:3], Logged(2, 0, 32), *LOG[1:]]
WRONG = {
    checks.survives: [
        (dies(**BROKEN), "ended with status 1, 18 s later. Expected: it continues."),
        (dies(**BROKEN), "It printed last: a.b.HorovodInternalError: Read error"),
        (dies(**HANGS), "did not end: it was ended 18 s later. Expected: it continues, and ends."),
        (dies(uses=[]), "without a model that can be read. Expected: model.keras in --log-dir."),
        (dies(uses=[1.0] * 240, commits=LOG[:6]), "ended in epoch 2. Expected: it ends after epoch 3"),
    ],
    checks.grows: [
        (joins(presence=[Presence(1.0, BEFORE["joins"])]), "no rank started on ruby. Expected"),
        (joins(received=1_000_000), "1 MB arrived at the first host. Expected: 80 MB"),
        (joins(astray=75), "75 of 240 images moved the weights in other directions than the gradients of rank 0's"),
        (joins(**HANGS), "did not end"),
    ],
    checks.rate: [
        (dies(uses=[3.5] * 120 + [4.0] * 120), "120 of 240 images moved the weights 3.50 times as"),
        (joins(uses=[1.5] * 240), "240 of 240 images moved the weights 1.50 times as far"),
        (dies(uses=[2.76] * 240), "Expected: 3 times, once per epoch, with --momentum, and at a"),
    ],
    checks.once: [
        (dies(uses=[4.0] * 20 + [2.0] * 10 + [3.0] * 210), "20 of 240 images were used more than 3"),
        (joins(uses=[2.0] + [3.0] * 239), "and 1 less often"),
    ],
    checks.commits: [
        (joins(commits=LOG[:1] + LOG[2:]), "no line for a commit of epoch 1, before the one after 144 images"),
        (joins(commits=EACH_STEP), "commits.csv has 60 lines (2 hosts, and a third one joins). Expected: some 15, one"),
        (joins(commits=LOG[4::5]), "commits.csv has 3 lines"),
        (joins(commits=[]), "commits.csv has 0 lines"),
        (dies(commits=BACK), "After a host died, commits.csv has a line of epoch 1 after 32 images, where it had got"),
        (dies(commits=TWICE), "commits.csv has a line of epoch 1 after 48 images where it had got that far before"),
        (joins(commits=[each for each in LOG if each.seen < 240]), "no commit at the end of 3 epochs"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "message"), rows(WRONG))
def test_a_finding_says_what_was_seen(check, change, message):
    assert ELASTIC.fails(check, change, message).expected


def test_where_an_error_stays_what_it_is_the_step_is_at_fault():
    text = ELASTIC.source.text
    runs = ELASTIC.solved()
    dies(exit=1)(runs)
    for script, at in (
        (text, "raise HorovodInternalError"),
        (text.replace("raise Horovod", "pass  #"), "loss = train_step"),
    ):
        found = find(checks.survives, runs, ELASTIC.solved(), parsing.read(script))
        assert script.splitlines()[found.line - 1].strip().startswith(at)


@pytest.mark.parametrize(("name", "what"), [("joins", "join"), ("dies", "die")])
@pytest.mark.parametrize(("ended", "how"), [({"exit": 1}, "ended with status 1"), (HANGS, "was ended after a while")])
def test_a_training_that_exchanges_nothing_is_no_training(name, what, ended, how):
    runs = ELASTIC.solved()
    printed = "[1]<stderr>:NameError: name 'state' is not defined\n[0]<stderr>:UnknownError: the other one\n"
    of(name, happened=None, stdout=printed, **ended)(runs)
    outcome = checks.part.ended(runs, 20, 60, ELASTIC.source.text)
    assert outcome.status == "failed" and outcome.message == (
        f"The ranks exchange no gradients ({CLUSTERS[name].description}): the training {how}, before a host could "
        f"{what}. Expected: the ranks train together. It printed last: NameError: name 'state' is not defined"
    )


@pytest.mark.parametrize("again", [(0, 144), (0, 128)])
def test_the_last_line_before_a_death_may_be_without_its_commit(again):
    assert ELASTIC.find(checks.commits, dies(commits=[*LOG[:3], Logged(2, *again), *LOG[3:]])) is None
