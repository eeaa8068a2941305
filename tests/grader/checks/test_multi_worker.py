"""The checks of steps 13 and 14, on made-up runs: what each says of a worker that does another thing than asked."""

from pathlib import Path

import pytest

from grader.checks.multi_worker import batches, restart, workers
from grader.checks.multi_worker.workers import STRATEGY
from grader.terms.facts import Disk, Progress, Writer
from grader.terms.findings import Finding, Unclear
from tests.grader.checks.made_up_workers import (
    SCRIPT,
    named,
    newest,
    of_facts,
    of_fit,
    of_rank,
    progress,
    right,
    said,
    saves,
    worker,
)

CHECKS = [
    *(workers.strategy_first, workers.communication, workers.in_scope, batches.global_batch, batches.parts),
    *(batches.steps, batches.restored, batches.chief_reports),
    *(restart.chief_writes, restart.thrown_away, restart.checkpoints, restart.one_backup, restart.backups),
    *(restart.resumed, restart.last_save),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_is_asked_for_passes(check):
    assert check(right(), right(), SCRIPT) is None


@pytest.mark.parametrize(("made", "traffic", "unclear"), [(2, 300, True), (1, 300, False), (1, 150, True)])
def test_workers_that_send_little_in_a_step_need_a_person(made, traffic, unclear):
    runs = right()
    for rank in runs.ranks():
        fit = rank.facts.fits[0]
        fit.epochs = fit.epochs[:made]
    runs.traffic = traffic  # the solution's is 1000, for 2 epochs
    found = workers.in_scope(runs, right(), SCRIPT)
    assert type(found) is (Unclear if unclear else type(None))


MESSAGES = [
    (workers.strategy_first, of_facts(strategies=[]), "Worker 1 (two workers) makes no MultiWorkerMirroredStrategy"),
    (workers.strategy_first, of_facts(strategies=[(STRATEGY, 1)]), "the strategy has 1 replica. Expected: 2"),
    (
        workers.strategy_first,
        of_rank(error="RuntimeError", causes=frozenset({"late strategy"})),
        "made after TensorFlow has been used",
    ),
    (
        workers.strategy_first,
        of_rank(error="TaskError", causes=frozenset({"port taken"})),
        "by the server of the strategy that the script itself has made before. Expected: check() first",
    ),
    (workers.communication, of_facts(communication=["AUTO"]), "with AUTO, where --communication is RING"),
    (workers.in_scope, of_facts(built="_DefaultDistributionStrategy"), "outside of the strategy's scope"),
    (workers.in_scope, of_fit(begin=Progress([9.0, 2.0], 0)), "begins training with weights other than worker 0's"),
    (
        workers.in_scope,
        of_fit(end=Progress([9.0, 2.0], 24)),
        "ends training with weights other than worker 0's. Expected: the same on all workers.",
    ),
    (batches.global_batch, of_fit(images=[[1]] * 24), "takes 1 image per step. Expected: 2"),
    (batches.parts, of_fit(images=worker(0).facts.fits[0].images), "trains on the same images as worker 0"),
    (
        batches.parts,
        of_fit(validation_images=worker(0).facts.fits[0].validation_images),
        "validates on the same images as worker 0",
    ),
    (batches.parts, of_fit(images=[[2, 3], [6, 7]] * 12), "the images are shared out twice"),
    (batches.steps, of_fit(epochs=[25, 25]), "makes 25 steps in epoch 1. Expected: 12, for 50 images"),
    (batches.steps, of_fit(epochs=[12, 1]), "makes 1 step in epoch 2. Expected: 12, for 50 images"),
    (
        batches.steps,
        of_fit(validation_images=[[1000, 1001]] * 20),
        "together validate on 24 images per epoch",
    ),
    (batches.steps, of_fit(validation_images=[[0, 1]] * 4), "that the workers validate on"),
    (
        batches.restored,
        of_rank(found=newest("after-2", 24)),
        "Worker 1 (two workers), started again, begins with 0 steps behind it. Expected: 24",
    ),
    (batches.restored, of_fit(epochs=[12]), "trains for 1 epoch. Expected: 2, since --epochs is 2"),
    (batches.chief_reports, of_rank(stdout="Epoch 1/2"), "Worker 1 (two workers) prints “Epoch 1/2”"),
    (batches.chief_reports, of_rank(0, stdout=""), "the chief, prints nothing"),
    (restart.chief_writes, of_facts(0, saves=saves(5, folder="/tmp/x")), "save_weights writes to /tmp/x/after-1"),
    (restart.thrown_away, of_facts(saves=saves(5)), "writes where the chief's files are kept"),
    (restart.thrown_away, of_facts(remains=["/tmp/a"]), "Worker 1 (two workers) leaves /tmp/a"),
    (restart.checkpoints, of_facts(saves=saves(12, 24)), "makes no checkpoint after step 5. Expected: after every 5"),
    (restart.checkpoints, of_facts(saves=saves(24)), "takes no part in saving checkpoints"),
    (restart.checkpoints, of_facts(saves=saves(*range(1, 25))), "makes a checkpoint after step 1"),
    (restart.one_backup, of_fit(callbacks=[]), "trains without BackupAndRestore"),
    (restart.one_backup, of_fit(callbacks=[Writer("BackupAndRestore", "/disk/left/b-1")]), "and worker 0 in /disk"),
    (
        restart.one_backup,
        of_fit(0, callbacks=[Writer("BackupAndRestore", "/tmp/b")]),
        "has its backup in /tmp/b. Expected: in a folder below",
    ),
    (restart.backups, of_facts(0, backups=saves(12)), "makes no backup after step 5"),
    (restart.backups, of_facts(0, backups=saves(*range(1, 24))), "makes a backup after step 1"),
    (restart.last_save, of_rank(0, left=Disk()), "the chief, leaves no checkpoint in --log-dir/checkpoints"),
    (  # the newest there is another worker's
        restart.last_save,
        of_facts(0, saves=saves(5, 24, folder="/tmp/x")),
        "the chief, leaves no checkpoint in --log-dir/checkpoints",
    ),
    (restart.last_save, of_rank(0, left=newest("after-2", 20)), "after-2, has 20 of the 24 steps"),
    (restart.last_save, named("final"), "is named final. Expected: the name with the number"),
    (restart.last_save, named("best-2"), "is named best-2, and those before it after-…"),
    (restart.last_save, of_facts(saves=saves(5, 10)), "takes no part in saving after the last step"),
]


@pytest.mark.parametrize(("check", "change", "message"), MESSAGES)
def test_what_is_said(check, change, message):
    found = said(check, change)
    assert message in found.message and type(found) is Finding and found.expected


RESTARTS = [
    (of_fit(restored=False), "worker 1 finds no backup in /disk/left/backup. Expected: that of step 15"),
    (of_fit(begin=progress(12)), "worker 1 resumes from step 12. Expected: from step 15"),
    (of_rank(error="ValueError: bad"), "worker 1 fails: ValueError: bad. Expected: it trains to the end."),
    (of_fit(end=progress(27)), "ends the training with 27 steps behind it. Expected: 24"),
]


@pytest.mark.parametrize(("change", "message"), RESTARTS)
def test_what_is_said_of_a_restart(change, message):
    assert message in said(restart.resumed, change, "restarted").message


def test_a_checkpoint_that_nothing_loads_is_no_checkpoint():
    found = said(restart.checkpoints, of_rank(found=Disk()), "restarted")
    assert (
        "worker 1 in --log-dir/checkpoints is missing, or of another format. Expected: that of step 15" in found.message
    )


def test_no_checkpoint_at_all():
    runs = right()
    runs.reserved = {}
    for rank in runs.ranks():
        rank.found = Disk()
    assert "leaves no checkpoint in --log-dir/checkpoints" in batches.restored(runs, right(), SCRIPT).message


def test_a_checkpoint_of_another_step_than_the_newest():
    found = said(restart.checkpoints, of_rank(found=newest("after-1", 5)), "restarted")
    assert (
        "the newest checkpoint for worker 1 in --log-dir/checkpoints is that of step 5. Expected: that of step 15"
        in found.message
    )
    assert found.line == 7


def test_data_that_do_not_repeat_end_in_a_later_epoch():
    found = said(batches.steps, of_fit(epochs=[12, 1]))
    assert found.message == (
        "Worker 1 (two workers) makes 1 step in epoch 2. Expected: 12, for 50 images that are not held out, 4 per "
        "step. The data end: do they repeat?"
    )
    assert found.line == 10
    assert "The data end" not in said(batches.steps, of_fit(epochs=[1, 1])).message


def test_workers_that_take_each_others_files_away_write_to_one_folder():
    runs = right()
    of_facts(saves=saves(5))(runs.clusters["two-workers"])
    assert not restart.thrown_away(runs, right(), SCRIPT).explains
    error = "InvalidArgumentError: left/checkpoints/after-2_temp/part-00000-of-00001 did not exist"
    of_rank(error=error)(runs.clusters["three-workers"])
    found = restart.thrown_away(runs, right(), SCRIPT)
    assert "writes where the chief's files are kept" in found.message and found.explains


@pytest.mark.parametrize("ended", [{"error": "ValueError: odd"}, {"ended_for": "stall"}])
def test_a_worker_that_was_ended_early_may_leave_its_folder(ended):
    runs = right()
    for change in (of_facts(remains=["/tmp/a"]), of_rank(**ended)):
        change(runs.clusters["two-workers"])
    assert restart.thrown_away(runs, right(), SCRIPT) is None


def test_epochs_counted_from_the_beginning():
    runs, expected = right(), right()
    for every in (runs, expected):
        for rank in every.clusters["three-workers"]:
            rank.found, rank.facts.fits[0].entered = newest("after-2", 24), progress(24)
    runs.clusters["three-workers"][1].facts.fits[0].epochs = [12] * 4
    message = batches.restored(runs, expected, SCRIPT).message
    assert "trains for 4 epochs. Expected: 2, since --epochs is 4, with 2 epochs behind it." in message


def test_workers_that_shuffle_with_seeds_of_their_own_pass_as_the_lesson_says():
    runs = right()
    fit = runs.clusters["two-workers"][1].facts.fits[0]
    first = worker(0).facts.fits[0].images
    fit.images = [*first[:6], *fit.images[6:]]  # half of them are the other worker's, too
    assert batches.parts(runs, right(), SCRIPT) is None
    lesson = Path(__file__).parents[3] / "notebooks/step_13/step_13.ipynb"
    assert "the check at the end of this lesson accepts different seeds" in lesson.read_text()


def test_images_that_the_script_shares_out_alone_pass():
    runs = right()
    fit = runs.clusters["two-workers"][1].facts.fits[0]
    fit.divided, fit.images = False, [[2, 3], [6, 7]] * 12
    assert batches.parts(runs, right(), SCRIPT) is None


def test_the_line_is_that_of_what_is_at_fault():
    found = said(workers.communication, of_facts(communication=["AUTO"]))
    check = next(check for check in workers.part.checks if check.judge is workers.communication)
    assert check.decide(found, SCRIPT).line == 2
