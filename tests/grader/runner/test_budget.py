"""The clock counts what time processes have had, and not what others took of their cores."""

import contextlib
import os
import subprocess
import sys

import psutil
import pytest

from grader.clock import SLOWEST, Clock

SECONDS = 2  # of a core


@pytest.fixture
def spin():
    """A function that starts a process which takes all that it gets of the one core that there is."""
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


def counted(clock, processes):
    """Return the seconds that the clock counts until the processes have run for some more, and those that it should."""
    clock.look(process.pid for process in processes)
    before, began = clock.had, ran(processes)
    while ran(processes) < began + SECONDS:
        with contextlib.suppress(psutil.TimeoutExpired):
            processes[0].wait(0.1)
    passed = clock.look(process.pid for process in processes)
    return clock.had - before, max(ran(processes) - began, SLOWEST * passed)


def test_what_others_take_of_a_core_does_not_count(spin):
    alone, _, _ = spin(), spin(), spin()
    later = []
    had, should = counted(Clock(lambda: later.append(1)), [alone])
    assert had == pytest.approx(should, rel=0.25)
    assert later, "somebody was called for what did not count"


def test_what_processes_take_from_each_other_does_count(spin):
    had, should = counted(Clock(), [spin(), spin(), spin()])
    assert had == pytest.approx(should, rel=0.25)
