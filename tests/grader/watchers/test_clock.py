"""The clock of a watcher, on a machine that other programs leave to it, and on a busy one."""

import pytest

from course.hosts.cluster import HostsError
from grader.watchers.clock import Clock


@pytest.fixture
def file(tmp_path):
    (tmp_path / "clock").write_text("10.0 0.0")
    return tmp_path / "clock"


def test_it_runs_up_to_its_limit(file):
    clock = Clock(file, 5)
    file.write_text("14.9 0.0")
    assert clock.runs()
    file.write_text("15.1 0.0")
    assert not clock.runs()


def test_it_waits_until_something_is_true_or_its_limit_comes(file):
    answers = iter([False, True])
    assert Clock(file, 5).until(lambda: next(answers))
    assert Clock(file, 0).until(lambda: True)
    assert not Clock(file, 0).until(lambda: False)


def test_seconds_in_which_others_kept_the_cores_do_not_count(file):
    clock = Clock(file, 5)
    file.write_text("14.9 60.0")
    assert clock.runs()


def test_on_a_busy_machine_neither_a_limit_nor_a_failure_proves_anything(file):
    clock = Clock(file, 5)
    file.write_text("20.0 31.0")
    for ask in (clock.runs, clock.check):
        with pytest.raises(HostsError, match="too busy with other programs"):
            ask()
    file.write_text("20.0 29.0")
    assert not clock.runs()


@pytest.mark.parametrize(("text", "times"), [("0.0 0.0", 1), ("10.0 0.0", 1), ("10.0 20.0", 3)])
def test_how_much_longer_all_takes(file, text, times):
    file.write_text(text)
    assert Clock(file, 5).slowdown == times
