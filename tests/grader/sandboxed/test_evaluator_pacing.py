"""Pauses of an evaluator: counted, shortened, and ended where they would never end."""

import mmap
import threading
import time
from pathlib import Path

import pytest

from grader.sandboxed import evaluator_pacing
from grader.sandboxed.recorder import Recorder
from grader.terms.facts import TaskFacts


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder, and restore time.sleep."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "sleep", time.sleep)


def made(in_vain=False):
    return evaluator_pacing.PacedSleep(Recorder(__file__, 0, mmap.mmap(-1, 40), TaskFacts()), Path.cwd(), in_vain)


def test_what_an_evaluator_does_is_seen_from_outside():
    assert evaluator_pacing.state() == (0, 0)
    own = made()
    for _ in range(2):
        time.sleep(0)
    own.evaluated()
    assert evaluator_pacing.state() == (1, 2)
    own.ended()
    assert evaluator_pacing.state().evaluations == evaluator_pacing.ENDED


def test_pauses_while_something_may_come_go_on():
    own = made()
    for _ in range(2 * evaluator_pacing.ENOUGH):
        time.sleep(0.001)
    assert own.recorder.facts.order == []


def test_a_pause_takes_as_long_as_it_says_and_ends_with_a_new_checkpoint(monkeypatch):
    made()
    began = time.monotonic()
    time.sleep(0.2)
    assert time.monotonic() - began >= 0.2
    times = iter([1, 1, 2])
    monkeypatch.setattr(evaluator_pacing.PacedSleep, "_written", lambda own: next(times))
    time.sleep(60)
    assert time.monotonic() - began < 30


def test_who_pauses_though_nothing_can_come_is_ended():
    own = made(in_vain=True)
    for _ in range(evaluator_pacing.ENOUGH):
        time.sleep(60)
    own.evaluated()  # it was busy, and looks again
    for _ in range(evaluator_pacing.ENOUGH):
        time.sleep(60)
    with pytest.raises(SystemExit, match="would wait indefinitely"):
        time.sleep(60)
    assert own.recorder.facts.order == ["wait"]


def test_pauses_of_other_threads_are_not_counted():
    made(in_vain=True)
    thread = threading.Thread(target=lambda: [time.sleep(0) for _ in range(2 * evaluator_pacing.ENOUGH)])
    thread.start()
    thread.join()
    assert evaluator_pacing.state() == (0, 0)
