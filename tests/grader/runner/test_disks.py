"""What is said of hosts' disks: names, sizes and the newest checkpoint, whatever a script has put there."""

import os
import signal

import pytest
import tensorflow as tf

from grader.runner import disks
from grader.terms.clusters import LOGS, Fresh, TaskSpec
from tests.grader.deep import too_deep

TWO_HOSTS = Fresh("two-hosts", "2 hosts", 2, 1, 0)
CLUSTER = Fresh("two-workers", "2 workers", 1, 2, 0, tasks=(TaskSpec("worker"), TaskSpec("worker")))


@pytest.fixture
def checkpoints(tmp_path):
    """Return the folder of checkpoints, with two in it."""
    folder = tmp_path / "host-0" / LOGS / "checkpoints"
    checkpoint = tf.train.Checkpoint(iter=tf.Variable(0, dtype=tf.int64))
    manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=2, checkpoint_name="after")
    for steps in (12, 24):
        checkpoint.iter.assign(steps)
        manager.save()
    return folder


def test_each_host_has_a_disk_of_its_own(tmp_path):
    for host, name in enumerate(("weights.h5", "deeper/weights.h5")):
        path = tmp_path / f"host-{host}" / LOGS / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"12345")
    first, second = disks.look(tmp_path, TWO_HOSTS)
    assert first.below(LOGS) == {"weights.h5": 5} and second.below(LOGS) == {"deeper/weights.h5": 5}
    assert first.below("le") == {} and first.checkpoint is None


def test_a_host_without_a_rank_has_an_empty_disk(tmp_path):
    assert [disk.files for disk in disks.look(tmp_path, TWO_HOSTS)] == [{}, {}]


def test_what_is_no_file_is_not_listed_and_a_name_of_odd_bytes_is_shown(tmp_path):
    logs = tmp_path / "host-0" / LOGS
    logs.mkdir(parents=True)
    os.mkfifo(logs / "pipe")
    (logs / "link").symlink_to("/etc/passwd")
    with open(os.fsencode(logs) + b"/\xff", "w"):  # noqa: PTH123  no path of text
        pass
    assert disks.look(tmp_path, TWO_HOSTS)[0].files == {f"{LOGS}/\ufffd": 0}


def test_the_logs_come_first_where_there_are_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(disks, "MOST", 1)
    for folder in ("copy", LOGS, "zoo"):
        (tmp_path / "host-0" / folder).mkdir(parents=True)
        (tmp_path / "host-0" / folder / "file").touch()
    assert list(disks.look(tmp_path, TWO_HOSTS)[0].files) == [f"{LOGS}/file"]


def test_folders_that_nothing_can_go_through_cost_what_is_in_them_alone(tmp_path):
    logs = tmp_path / "host-0" / LOGS
    logs.mkdir(parents=True)
    (logs / "weights.h5").touch()
    with too_deep(logs):
        assert list(disks.look(tmp_path, TWO_HOSTS)[0].files) == [f"{LOGS}/weights.h5"]


def test_the_newest_checkpoint_is_read(tmp_path, checkpoints):
    (disk,) = disks.look(tmp_path, CLUSTER)
    assert disk.checkpoint.path == str(checkpoints / "after-2") and disk.checkpoint.iterations == 24
    assert {"after-1.index", "after-2.index"} < disk.below(f"{LOGS}/checkpoints").keys()


def test_no_checkpoint_and_one_that_is_spoiled_are_none(tmp_path, checkpoints):
    (checkpoints / "after-2.index").write_bytes(b"no index")
    assert disks.look(tmp_path, CLUSTER)[0].checkpoint is None
    for path in checkpoints.iterdir():
        path.unlink()
    assert disks.look(tmp_path, CLUSTER)[0].checkpoint is None


def test_a_pipe_in_the_place_of_a_checkpoint_stops_nothing(tmp_path, checkpoints):
    (checkpoints / "after-2.index").unlink()
    os.mkfifo(checkpoints / "after-2.index")
    assert disks.look(tmp_path, CLUSTER)[0].checkpoint is None


def test_a_reader_that_ends_or_stands_still_costs_the_checkpoint_alone(tmp_path, checkpoints, monkeypatch):
    monkeypatch.setattr(disks, "_read", lambda folder: os.kill(os.getpid(), signal.SIGKILL))
    assert disks.look(tmp_path, CLUSTER)[0].checkpoint is None
    monkeypatch.setattr(disks, "LONGEST", 1)
    monkeypatch.setattr(disks, "_read", lambda folder: os.read(os.pipe()[0], 1))
    assert disks.look(tmp_path, CLUSTER)[0].checkpoint is None
