"""The checks of steps 13 and 14, on made-up runs: what each says of a worker that does another thing than asked."""

import pytest

from grader.checks.multi_worker import batches, restart, workers
from grader.checks.multi_worker.workers import STRATEGY
from grader.terms.facts import Disk, Progress, Writer
from grader.terms.findings import Unclear
from tests.grader.checks.made_up import of, rows
from tests.grader.checks.made_up_workers import (
    WORKERS,
    chief,
    named,
    newest,
    other,
    other_again,
    progress,
    right,
    saves,
    worker,
)

LATE, TAKEN = ({"causes": frozenset({cause})} for cause in ("late strategy", "port taken"))
FIRST = worker(0).facts.fits[0]
APART = [9.0, 2.0]


def backup(folder):
    return {"callbacks": [Writer("BackupAndRestore", folder)]}


WRONG = {
    workers.strategy_first: [
        (other(strategies=[]), "Worker 1 (two workers) makes no MultiWorkerMirroredStrategy"),
        (other(strategies=[(STRATEGY, 1)]), "the strategy has 1 replica. Expected: 2"),
        (other(error="RuntimeError", **LATE), "made after TensorFlow has been used"),
        (other(error="TaskError", **TAKEN), "by the server of the strategy that the script itself has made before."),
    ],
    workers.communication: [(other(communication=["AUTO"]), "with AUTO, where --communication is RING")],
    workers.in_scope: [
        (other(built="_DefaultDistributionStrategy"), "outside of the strategy's scope"),
        (other(begin=Progress(APART, 0)), "begins training with weights other than worker 0's"),
        (other(end=Progress(APART, 24)), "ends training with weights other than worker 0's"),
    ],
    batches.global_batch: [(other(images=[[1]] * 24), "takes 1 image per step. Expected: 2")],
    batches.parts: [
        (other(images=FIRST.images), "trains on the same images as worker 0"),
        (other(validation_images=FIRST.validation_images), "validates on the same images as worker 0"),
        (other(images=[[2, 3], [6, 7]] * 12), "the images are shared out twice"),
    ],
    batches.steps: [
        (other(epochs=[25, 25]), "makes 25 steps in epoch 1. Expected: 12, for 50 images"),
        (other(epochs=[12, 1]), "makes 1 step in epoch 2. Expected: 12, for 50 images that are not held out"),
        (other(epochs=[12, 1]), "The data end: do they repeat?"),
        (other(validation_images=[[1000, 1001]] * 20), "together validate on 24 images per epoch"),
        (other(validation_images=[[0, 1]] * 4), "that the workers validate on"),
    ],
    batches.restored: [
        (other(found=newest("after-2", 24)), "Worker 1 (two workers), started again, begins with 0 steps behind it."),
        (other(epochs=[12]), "trains for 1 epoch. Expected: 2, since --epochs is 2"),
    ],
    batches.chief_reports: [
        (other(stdout="Epoch 1/2"), "Worker 1 (two workers) prints “Epoch 1/2”"),
        (chief(stdout=""), "the chief, prints nothing"),
    ],
    restart.chief_writes: [(chief(saves=saves(5, folder="/tmp/x")), "save_weights writes to /tmp/x/after-1")],
    restart.thrown_away: [
        (other(saves=saves(5)), "writes where the chief's files are kept"),
        (other(remains=["/tmp/a"]), "Worker 1 (two workers) leaves /tmp/a"),
    ],
    restart.checkpoints: [
        (other(saves=saves(12, 24)), "makes no checkpoint after step 5. Expected: after every 5"),
        (other(saves=saves(24)), "takes no part in saving checkpoints"),
        (other(saves=saves(*range(1, 25))), "makes a checkpoint after step 1"),
        (other_again(found=Disk()), "worker 1 in --log-dir/checkpoints is missing, or of another format."),
        (other_again(found=newest("after-1", 5)), "in --log-dir/checkpoints is that of step 5. Expected: that of st"),
    ],
    restart.one_backup: [
        (other(callbacks=[]), "trains without BackupAndRestore"),
        (other(**backup("/disk/left/b-1")), "and worker 0 in /disk"),
        (chief(**backup("/tmp/b")), "has its backup in /tmp/b. Expected: in a folder below"),
    ],
    restart.backups: [
        (chief(backups=saves(12)), "makes no backup after step 5"),
        (chief(backups=saves(*range(1, 24))), "makes a backup after step 1"),
    ],
    restart.resumed: [
        (other_again(restored=False), "worker 1 finds no backup in /disk/left/backup. Expected: that of step 15"),
        (other_again(begin=progress(12)), "worker 1 resumes from step 12. Expected: from step 15"),
        (other_again(error="ValueError: bad"), "worker 1 fails: ValueError: bad"),
        (other_again(end=progress(27)), "ends the training with 27 steps behind it. Expected: 24"),
    ],
    restart.last_save: [
        (chief(left=Disk()), "the chief, leaves no checkpoint in --log-dir/checkpoints"),
        (chief(saves=saves(5, 24, folder="/tmp/x")), "the chief, leaves no checkpoint in --log-dir/checkpoints"),
        (chief(left=newest("after-2", 20)), "after-2, has 20 of the 24 steps"),
        (named("final"), "is named final. Expected: the name with the number"),
        (named("best-2"), "is named best-2, and those before it after-…"),
        (other(saves=saves(5, 10)), "takes no part in saving after the last step"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "message"), rows(WRONG))
def test_what_is_wrong_is_said(check, change, message):
    WORKERS.fails(check, change, message)


@pytest.mark.parametrize(
    ("check", "change", "line"),
    [
        (workers.communication, other(communication=["AUTO"]), 2),
        (restart.checkpoints, other_again(found=newest("after-1", 5)), 7),
        (batches.steps, other(epochs=[12, 1]), 10),
    ],
)
def test_the_line_is_that_of_what_is_at_fault(check, change, line):
    assert WORKERS.find(check, change).line == line


def test_data_that_end_in_the_first_epoch_are_no_matter_of_repetition():
    assert "The data end" not in WORKERS.find(batches.steps, other(epochs=[1, 1])).message


@pytest.mark.parametrize(("made", "traffic", "unclear"), [(2, 300, True), (1, 300, False), (1, 150, True)])
def test_workers_that_send_little_in_a_step_need_a_person(made, traffic, unclear):
    runs = right()
    for rank in runs.ranks():
        rank.facts.fits[0].epochs = rank.facts.fits[0].epochs[:made]
    runs.traffic = traffic  # the solution's is 1000, for 2 epochs
    assert (type(workers.in_scope(runs, right(), WORKERS.source)) is Unclear) == unclear


def test_no_checkpoint_at_all():
    changes = lambda runs: runs.reserved.clear(), of("two-workers", found=Disk()), of("three-workers", found=Disk())
    WORKERS.fails(batches.restored, changes, "leaves no checkpoint in --log-dir/checkpoints")


def test_workers_that_take_each_others_files_away_write_to_one_folder():
    one_folder = other(saves=saves(5))
    assert not WORKERS.find(restart.thrown_away, one_folder).explains
    error = "InvalidArgumentError: left/checkpoints/after-2_temp/part-00000-of-00001 did not exist"
    changes = one_folder, of("three-workers", 1, error=error)
    assert WORKERS.fails(restart.thrown_away, changes, "writes where the chief's files are kept").explains


@pytest.mark.parametrize("ended", [{"error": "ValueError: odd"}, {"ended_for": "stall"}])
def test_a_worker_that_was_ended_early_may_leave_its_folder(ended):
    assert WORKERS.find(restart.thrown_away, other(remains=["/tmp/a"], **ended)) is None


def test_epochs_counted_from_the_beginning():
    runs, expected = right(), right()
    for every in (runs, expected):
        of("three-workers", found=newest("after-2", 24), entered=progress(24))(every)
    of("three-workers", 1, epochs=[12] * 4)(runs)
    message = batches.restored(runs, expected, WORKERS.source).message
    assert "trains for 4 epochs. Expected: 2, since --epochs is 4, with 2 epochs behind it." in message


def test_workers_that_shuffle_with_seeds_of_their_own_pass():
    half_of_the_chief_s = [*FIRST.images[:6], *worker(1).facts.fits[0].images[6:]]
    assert WORKERS.find(batches.parts, other(images=half_of_the_chief_s)) is None


def test_images_that_the_script_shares_out_alone_pass():
    assert WORKERS.find(batches.parts, other(divided=False, images=[[2, 3], [6, 7]] * 12)) is None
