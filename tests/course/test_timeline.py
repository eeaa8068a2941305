"""Horovod's timeline: waiting ranks are read from it, and drawn."""

import json
from pathlib import Path

import pytest

from course import figures, launch

NEGOTIATE = [{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 1_000_000, "pid": 1}]
NAME = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "loss"}}]


def trace(path: Path, *events) -> Path:
    path.write_text(json.dumps([*NAME, *NEGOTIATE, *events]))
    return path


def arrival(rank, microseconds):
    return {"ph": "X", "name": str(rank), "ts": microseconds, "pid": 1, "dur": 0}


def test_a_rank_that_never_joined_is_missing_and_named(tmp_path):
    path = trace(tmp_path / "hang.json", arrival(1, 1_000_000), {"ph": "i", "name": "CYCLE_START", "ts": 9_000_000})
    (stuck,) = figures.read_timeline(path)
    assert (stuck.tensor, stuck.arrivals, stuck.start) == ("loss", {1: 1.0}, None)
    assert stuck.timeline_end == 9.0
    (ax,) = figures.ranks_over_time([stuck], np=3).axes
    assert "in “loss”, waits for rank 0, 2" in [text.get_text() for text in ax.texts]


def test_a_timeline_without_the_settings_is_refused(tmp_path):
    path = trace(tmp_path / "cached.json", {"ph": "E", "ts": 1_000_001, "pid": 1})
    with pytest.raises(ValueError, match="HOROVOD_CACHE_CAPACITY=0"):
        figures.read_timeline(path)


def test_half_a_file_is_refused(tmp_path):
    path = tmp_path / "half.json"
    path.write_text(trace(tmp_path / "whole.json").read_text()[:-20])
    with pytest.raises(ValueError, match=r"half\.json is not a whole timeline"):
        figures.read_timeline(path)


SLOW = """
import time
import horovod.tensorflow as hvd, tensorflow as tf
hvd.init()
@tf.function
def average(value, name):
    return hvd.allreduce(value, name=name)
for step in range(3):
    time.sleep(0.5 * hvd.rank())
    average(tf.ones(1000), "gradients")
hvd.stop_timeline()
"""


@pytest.mark.slow
def test_the_wait_for_a_slow_rank_is_read_from_horovod_s_timeline(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    timeline = tmp_path / "slow.json"
    launch.script(tmp_path / "slow.py", np=2, variables=figures.timeline_variables(timeline))
    collectives = figures.read_timeline(timeline)
    assert [collective.tensor for collective in collectives] == ["gradients"] * 3
    for collective in collectives[1:]:
        assert collective.arrivals[1] - collective.arrivals[0] == pytest.approx(0.5, abs=0.3)
        assert collective.arrivals[1] <= collective.start <= collective.end <= collective.timeline_end
