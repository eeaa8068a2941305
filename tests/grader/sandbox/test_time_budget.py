"""The time budget counts the time that processes could compute, and not what others took of their cores."""

import contextlib
import os
import subprocess
import sys

import psutil
import pytest

from grader.sandbox.time_budget import SLOWEST, Budget

SECONDS = 2  # of a core


@pytest.fixture
def spin():
    """A function that starts a process which takes all that it gets of the only core."""
    cores, started = os.sched_getaffinity(0), []

    def start():
        started.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        return psutil.Process(started[-1].pid)

    os.sched_setaffinity(0, {min(cores)})
    yield start
    os.sched_setaffinity(0, cores)
    for process in started:
        process.kill()
        process.wait()


def ran(processes):
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def counted(budget, processes):
    """Return the seconds that the budget counts until the processes have run for more, and those that it should."""
    budget.look(process.pid for process in processes)
    before, began = budget.had, ran(processes)
    while ran(processes) < began + SECONDS:
        with contextlib.suppress(psutil.TimeoutExpired):
            processes[0].wait(0.1)
    passed = budget.look(process.pid for process in processes)
    return budget.had - before, max(ran(processes) - began, SLOWEST * passed)


def test_what_others_take_of_a_core_does_not_count(spin):
    alone, _, _ = spin(), spin(), spin()
    later = []
    budget = Budget(lambda: later.append(1))
    had, should = counted(budget, [alone])
    assert had == pytest.approx(should, rel=0.25)
    assert budget.lost > 1
    assert later, "somebody was called for what did not count"


def test_what_processes_take_from_each_other_does_count(spin):
    had, should = counted(Budget(), [spin(), spin(), spin()])
    assert had == pytest.approx(should, rel=0.25)


def test_nobody_is_kept_from_a_core_that_does_not_want_one():
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        budget = Budget()
        budget.look([sleeper.pid])
        with contextlib.suppress(subprocess.TimeoutExpired):
            sleeper.wait(0.5)
        budget.look([sleeper.pid])
        sleeper.kill()
    assert budget.lost < 0.1
