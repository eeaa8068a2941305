"""The checks of step 10, on made-up runs: what each finds, the line that it names, and its words."""

import pytest

from grader.checks.production import resume
from grader.checks.production.imagenet_resnet50 import EPOCHS, NEWEST
from grader.reading import parsing
from grader.terms.facts import Disk
from tests.grader.checks.made_up import of, rows
from tests.grader.checks.made_up_production import PRODUCTION, SOURCE, line, of_epochs, state

SAVES, LOADS, COUNTS = line("self.model.save("), line("hvd.load_model("), line("initial_epoch = broadcast_object")
OTHER_WRITES = of("two-hosts", 1, wrote=["checkpoint-1.partial"])
SHUT_DOWN, NO_FILE = {"causes": frozenset({"shut down"})}, {"causes": frozenset({"no file"})}


def again(*numbers, **values):
    """Return a change of ranks that were started again."""
    return of("resumed", *numbers, **values)


def begin(first, others):
    """Return a change of the epochs that ranks begin with when they are started again."""
    return again(0, initial_epoch=first), again(1, 2, initial_epoch=others)


def stuck(runs):
    for rank, collective in zip(runs.reserved["resumed"], ("broadcast “m”", ""), strict=False):
        rank.ended_for, rank.collective = "stall", collective


def drifts(runs):
    runs.reserved["resumed"][1].facts.fits[0].batches[1].after = [9.0]


def without(name, error, **values):
    """Return a change of a rank that fails before it trains."""
    return again(1, fits=[], error=f"{name}: {error}", error_kind=name, **values)


NO_CHECKPOINT = without("FileNotFoundError", "checkpoint-10.h5", error_line=7, **NO_FILE)
WRONG = {
    resume.saved_each_epoch: [
        (of_epochs("two-hosts", 0, 0, saved=[]), SAVES, "Rank 0 (two-hosts) ends epoch 1 without a new file"),
        (of_epochs("resumed", 0, 0, saved=[]), SAVES, "Rank 0 (started again) ends epoch 11 without a new"),
        (of_epochs("two-hosts", 0, 0, saved=["checkpoint-1.h5"]), SAVES, "Expected: a file called checkpoint-1.hdf5."),
    ],
    resume.renamed: [
        (of("two-hosts", 0, wrote=["checkpoint-2.hdf5"]), SAVES, "Rank 0 (two-hosts) writes checkpoint-2.hdf5"),
    ],
    resume.one_writer: [
        (OTHER_WRITES, line("SaveCheckpoint())"), "Rank 1 (two-hosts) writes checkpoint-1.partial."),
    ],
    resume.goes_on: [
        (begin(NEWEST, 0), COUNTS, "begins with epoch 11 on rank 0, epoch 1 on rank 1 and epoch 1 on rank 2"),
        (begin(NEWEST, 0), COUNTS, "Rank 0's newest checkpoint is that after epoch 10. Expected: epoch 11"),
        (begin(9, 9), COUNTS, "As text, 9 sorts after 10; and the file written last need not be the newest."),
        (begin(NEWEST, NEWEST + 1), COUNTS, "Rank 1's host has a file of that name, checkpoint-11.h5, of another run."),
        ((*begin(NEWEST, 0), without("Denied", "no", **SHUT_DOWN)), COUNTS, "newest checkpoint is that after"),
    ],
    resume.state_restored: [
        (again(0, begin=state(5.0)), LOADS, "begins with other weights than those of its newest checkpoint."),
        (again(0, begin=state(iterations=0)), LOADS, "but its optimizer counts 0 iterations in place of 8."),
        (again(0, begin=state(slots=3.0)), LOADS, "newest checkpoint, but the optimizer's momentum is another one."),
        (again(0, begin=state(iterations=0, slots=0.0)), LOADS, "in place of 8, and the optimizer's momentum is 0."),
    ],
    resume.loaded_everywhere: [
        ((NO_CHECKPOINT, again(0, ended_for="others")), 7, "Rank 1 (started again) fails: FileNotFoundError"),
        ((NO_CHECKPOINT, again(0, ended_for="others")), 7, "Its host has no such file."),
        (without("OSError", "cannot open"), LOADS, "files of another run, up to checkpoint-11.h5, and no checkpoint."),
        (stuck, LOADS, "rank 0 waits in broadcast “m”; rank 1 never reaches a collective; rank 2 has ended."),
        (again(1, begin=state(names="m2")), LOADS, "have other names on Rank 1 (started again) than on rank 0"),
        (again(1, begin=state(7.0)), LOADS, "The weights of Rank 1 (started again) differ from rank 0's at the start."),
        (drifts, LOADS, "The weights of Rank 1 (started again) differ from rank 0's after batch 2."),
        (again(0, error="shut down", error_line=8, **SHUT_DOWN), 8, "Rank 0 (started again) waits for ranks that have"),
        (again(1, exit=3), LOADS, "Rank 1 (started again) ends with exit status 3."),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "line", "message"), rows(WRONG))
def test_what_is_wrong_is_said_with_its_line(check, change, line, message):
    assert PRODUCTION.fails(check, change, message).line == line


NOT_SAVED = of_epochs("resumed", 0, 0, saved=[])


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (resume.renamed, of_epochs("two-hosts", 0, 1, saved=["checkpoint-2.h5", "checkpoint-2.partial"])),
        (resume.saved_each_epoch, (NOT_SAVED, again(0, error="ValueError: odd"))),
        (resume.goes_on, begin(EPOCHS, EPOCHS)),  # it does not see the copies of checkpoints that are put there
    ],
)
def test_what_is_right_passes(check, change):
    assert PRODUCTION.find(check, change) is None


def test_a_rank_that_writes_as_well_explains_why_the_program_fails():
    assert PRODUCTION.find(resume.one_writer, OTHER_WRITES).explains


@pytest.mark.parametrize(
    ("begins", "repeated"), [(NEWEST, False), (EPOCHS, False), (NEWEST - 1, True), (EPOCHS - 1, True)]
)
def test_checkpoints_named_by_the_epochs_before_them(begins, repeated):
    found = PRODUCTION.find(
        resume.goes_on,
        begin(begins, begins),
        tuple(of_epochs("three-ranks", 0, number, saved=[f"checkpoint-{number}.h5"]) for number in range(2)),
        of("three-ranks", 0, left=Disk({f"left/checkpoint-{number}.h5": 10 for number in (0, 1)})),
    )
    assert bool(found) is repeated
    assert not found or found.message.endswith("At first, the checkpoint after epoch 2 is called checkpoint-1.")


def test_the_line_of_model_fit_where_it_is_not_given_the_epoch():
    text = SOURCE.text.replace("    initial_epoch=initial_epoch,\n", "")
    found = PRODUCTION.find(resume.goes_on, begin(0, 0), source=parsing.read(text))
    assert found.line == line("model.fit(")
