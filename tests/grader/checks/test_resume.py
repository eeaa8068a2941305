"""The checks of step 10, on made-up runs: what each finds, the line that it names, and its words."""

import pytest

from grader.checks.production import resume
from grader.checks.production.imagenet_resnet50 import EPOCHS, NEWEST
from grader.reading import parsing
from grader.terms.facts import Disk
from grader.terms.findings import Finding, Untold
from grader.terms.runs import Runs
from tests.grader.checks.judged import find
from tests.grader.checks.made_up import SOURCE, all_right, fits, line, state


@pytest.fixture
def runs() -> Runs:
    """Runs of a script that does all that is asked for."""
    return all_right()


@pytest.fixture
def right() -> Runs:
    """Runs of the solution."""
    return all_right()


# --- Step 10: how checkpoints are written -----------------------------------------------------------------------------


def test_an_epoch_that_is_not_saved(runs, right):
    fits(runs)[0].epochs[0].saved = []
    found = find(resume.saved_each_epoch, runs, right, SOURCE)
    assert found.message == (
        "Rank 0 (two-hosts) ends epoch 1 without a new file in --log-dir whose name begins with checkpoint-. "
        "Expected: a checkpoint after every epoch."
    )
    assert found.line == line("self.model.save(")


def test_an_epoch_that_did_not_end_is_not_told(runs, right):
    fits(runs)[0].epochs[1].saved = None
    found = find(resume.saved_each_epoch, runs, right, SOURCE)
    assert found.message == "Not checked: Rank 0 (two-hosts) does not train to its end."


def test_a_checkpoint_that_is_written_under_its_name(runs, right):
    fits(runs)[0].wrote = ["checkpoint-2.h5"]
    found = find(resume.renamed, runs, right, SOURCE)
    assert found.message == (
        "Rank 0 (two-hosts) writes checkpoint-2.h5 under this name: a kill in mid-write leaves a truncated file that "
        "looks like a checkpoint. Expected: another name until the file is whole, then a rename."
    )
    assert found.line == line("self.model.save(")


def test_a_partial_file_that_stays_next_to_the_checkpoint_is_right(runs, right):
    fits(runs)[0].epochs[1].saved = ["checkpoint-2.h5", "checkpoint-2.partial"]
    assert resume.renamed(runs, right, SOURCE) is None


def test_an_epoch_that_is_not_saved_after_a_restart(runs, right):
    fits(runs, "resumed")[0].epochs[0].saved = []
    found = find(resume.saved_each_epoch, runs, right, SOURCE)
    assert found.message.startswith(f"Rank 0 (started again) ends epoch {NEWEST + 1} without a new file")
    runs.reserved["resumed"][0].error = "ValueError: odd"
    assert resume.saved_each_epoch(runs, right, SOURCE) is None


def test_another_rank_that_writes(runs, right):
    fits(runs, "two-hosts")[1].wrote = ["checkpoint-1.partial"]
    found = find(resume.one_writer, runs, right, SOURCE)
    assert found.message == "Rank 1 (two-hosts) writes checkpoint-1.partial. Expected: rank 0 alone saves."
    assert found.line == line("SaveCheckpoint())") and found.explains


# --- Step 10: where a restart resumes ---------------------------------------------------------------------------------


def begin(runs, *epochs):
    for fit, epoch in zip(fits(runs, "resumed"), (*epochs, epochs[-1]), strict=True):
        fit.initial_epoch = epoch


def test_ranks_that_begin_with_different_epochs(runs, right):
    begin(runs, NEWEST, 0)
    found = find(resume.goes_on, runs, right, SOURCE)
    assert found.message == (
        "Started again, training begins with epoch 11 on rank 0, epoch 1 on rank 1 and epoch 1 on rank 2. "
        "Rank 0's newest checkpoint is that after epoch 10. Expected: epoch 11 on every rank."
    )
    assert found.line == line("initial_epoch = broadcast_object")


def test_a_rank_that_fails_by_itself_stops_the_others_at_any_time(runs, right):
    begin(runs, NEWEST, 0)
    failing = runs.reserved["resumed"][1]
    failing.facts.fits, failing.error = [], "PermissionDeniedError: checkpoint-11.h5"
    found = find(resume.goes_on, runs, right, SOURCE)
    assert found.message == "Not checked: Rank 1 (started again) does not reach training."
    failing.causes = frozenset({"shut down"})
    assert type(resume.goes_on(runs, right, SOURCE)) is Finding


def test_names_in_the_order_of_texts(runs, right):
    begin(runs, 9, 9)
    found = find(resume.goes_on, runs, right, SOURCE)
    assert found.message.endswith("As text, 9 sorts after 10; and the file written last need not be the newest.")


@pytest.mark.parametrize(
    ("begins", "repeated"), [(NEWEST, False), (EPOCHS, False), (NEWEST - 1, True), (EPOCHS - 1, True)]
)
def test_checkpoints_named_by_the_epochs_before_them(runs, right, begins, repeated):
    for number, epoch in enumerate(fits(runs, "three-ranks")[0].epochs):
        epoch.saved = [f"checkpoint-{number}.h5"]
    runs.clusters["three-ranks"][0].left = Disk({f"left/checkpoint-{number}.h5": 10 for number in (0, 1)})
    begin(runs, begins, begins)
    found = find(resume.goes_on, runs, right, SOURCE)
    assert bool(found) is repeated
    if found:
        assert found.message.endswith("At first, the checkpoint after epoch 2 is called checkpoint-1.")


def test_a_leftover_on_another_host(runs, right):
    begin(runs, NEWEST, NEWEST + 1)
    found = find(resume.goes_on, runs, right, SOURCE)
    assert found.message.endswith("Rank 1's host has a file of that name, checkpoint-11.h5, of another run.")


def test_a_program_that_does_not_see_the_copies_is_right(runs, right):
    begin(runs, EPOCHS, EPOCHS)
    assert resume.goes_on(runs, right, SOURCE) is None


def test_the_line_of_model_fit_where_it_is_not_given_the_epoch(runs, right):
    begin(runs, 0, 0)
    text = SOURCE.text.replace("    initial_epoch=initial_epoch,\n", "")
    assert find(resume.goes_on, runs, right, parsing.read(text)).line == line("model.fit(")


def test_other_weights_after_a_restart(runs, right):
    fits(runs, "resumed")[0].begin = state(5.0)
    found = find(resume.state_restored, runs, right, SOURCE)
    assert found.message == (
        "Rank 0 (started again) begins with other weights than those of its newest checkpoint. Expected: the weights "
        "with which the last epoch ended."
    )
    assert found.line == line("hvd.load_model(")


@pytest.mark.parametrize(
    ("begins", "words"),
    [
        (
            state(iterations=0, slots=0.0),
            "its optimizer counts 0 iterations in place of 8, and the optimizer's momentum is 0",
        ),
        (state(iterations=0), "its optimizer counts 0 iterations in place of 8"),
        (state(slots=3.0), "the optimizer's momentum is another one"),
    ],
)
def test_what_of_the_optimizer_is_lost(runs, right, begins, words):
    fits(runs, "resumed")[0].begin = begins
    found = find(resume.state_restored, runs, right, SOURCE)
    assert found.message == (
        f"Rank 0 (started again) has the weights of its newest checkpoint, but {words}. "
        "Expected: the optimizer as it was."
    )


def test_a_file_that_another_host_does_not_have(runs, right):
    rank = runs.reserved["resumed"][1]
    rank.facts.fits, rank.error, rank.error_line = [], "FileNotFoundError: checkpoint-10.h5", 7
    rank.causes = frozenset({"no file"})
    runs.reserved["resumed"][0].ended_for = "others"
    assert isinstance(resume.goes_on(runs, right, SOURCE), Untold)
    found = find(resume.loaded_everywhere, runs, right, SOURCE)
    assert found.line == 7 and found.message == (
        "Rank 1 (started again) fails: FileNotFoundError: checkpoint-10.h5. Expected: every rank resumes from rank 0's "
        "checkpoint. Its host has no such file."
    )


def test_a_deadlock_after_a_restart(runs, right):
    for rank, collective in zip(runs.reserved["resumed"], ("broadcast “m”", ""), strict=False):
        rank.ended_for, rank.collective = "stall", collective
    found = find(resume.loaded_everywhere, runs, right, SOURCE)
    assert found.message == (
        "Deadlock (started again): rank 0 waits in broadcast “m”; rank 1 never reaches a collective; rank 2 has ended. "
        "Expected: every rank resumes from rank 0's checkpoint."
    )


def test_an_optimizer_with_other_names(runs, right):
    fits(runs, "resumed")[1].begin = state(names="SGD_m")
    found = find(resume.loaded_everywhere, runs, right, SOURCE)
    assert "have other names on Rank 1 (started again) than on rank 0" in found.message


def test_ranks_that_begin_with_other_weights_and_take_over_rank_0_s_later(runs, right):
    fits(runs, "resumed")[1].begin.weights = [7.0, 8.0]
    found = find(resume.loaded_everywhere, runs, right, SOURCE)
    assert found.message.startswith("The weights of Rank 1 (started again) differ from rank 0's at the start.")


def test_ranks_that_do_not_stay_alike(runs, right):
    fits(runs, "resumed")[1].batches[1].after = [9.0]
    found = find(resume.loaded_everywhere, runs, right, SOURCE)
    assert found.message.startswith("The weights of Rank 1 (started again) differ from rank 0's after batch 2.")


def test_a_rank_that_ends_before_another(runs, right):
    rank = runs.reserved["resumed"][0]
    rank.error, rank.causes, rank.error_line = (
        "UnknownError: Horovod has been shut down. …",
        frozenset({"shut down"}),
        8,
    )
    found = find(resume.loaded_everywhere, runs, right, SOURCE)
    assert found.line == 8 and found.message == (
        "Rank 0 (started again) waits for ranks that have already ended. Expected: every rank resumes from rank 0's "
        "checkpoint."
    )


def test_a_leftover_that_another_rank_loads(runs, right):
    rank = runs.reserved["resumed"][1]
    rank.facts.fits, rank.error, rank.error_kind = [], "OSError: Unable to synchronously open file", "OSError"
    assert resume.loaded_everywhere(runs, right, SOURCE).message == (
        "Rank 1 (started again) fails: OSError: Unable to synchronously open file. Expected: every rank resumes from "
        "rank 0's checkpoint. Its host has files of another run, up to checkpoint-11.h5, and no checkpoint."
    )


def test_the_line_of_a_rank_that_ends_without_an_error_is_where_it_loads(runs, right):
    runs.reserved["resumed"][1].exit = 3
    found = find(resume.loaded_everywhere, runs, right, SOURCE)
    assert found.message.startswith("Rank 1 (started again) ends with exit status 3. Expected: every rank resumes")
    assert found.line == line("hvd.load_model(")
