"""What the recorder of a task changes of what the script calls, tried out."""

import mmap
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import tensorflow as tf

from grader.sandboxed.task_recorder import TaskRecorder

GONE = "left/checkpoints/after-2_temp/part-00000-of-00001 not found"


@pytest.mark.parametrize("kind", [tf.errors.NotFoundError, tf.errors.InvalidArgumentError])
def test_a_save_whose_files_another_worker_takes_away_is_made_again(kind, tmp_path):
    recorder = TaskRecorder("script.py", 0, mmap.mmap(-1, 4096), 0, None)
    extended = SimpleNamespace(_in_multi_worker_mode=lambda: False)
    model = SimpleNamespace(distribute_strategy=SimpleNamespace(extended=extended), optimizer=None)
    save = Mock(side_effect=[kind(None, None, GONE), "saved"])
    assert recorder._watched_save(save)(model, tmp_path / "after-2") == "saved" and save.call_count == 2
