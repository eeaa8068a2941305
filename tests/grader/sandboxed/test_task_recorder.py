"""What the recorder of a task changes of what the script calls, tried out."""

import mmap
from types import SimpleNamespace
from unittest.mock import Mock

import tensorflow as tf

from grader.sandboxed.task_recorder import TaskRecorder


def test_a_save_whose_files_another_worker_takes_away_is_made_again(tmp_path):
    recorder = TaskRecorder("script.py", 0, mmap.mmap(-1, 4096), 0, None)
    extended = SimpleNamespace(_in_multi_worker_mode=lambda: False)
    model = SimpleNamespace(distribute_strategy=SimpleNamespace(extended=extended), optimizer=None)
    gone = tf.errors.NotFoundError(None, None, "left/checkpoints/after-2_temp/part-00000-of-00001; No such file")
    save = Mock(side_effect=[gone, "saved"])
    assert recorder._watched_save(save)(model, tmp_path / "after-2") == "saved" and save.call_count == 2
