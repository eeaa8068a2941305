"""Fixtures and helpers that several test files share."""

import os
import shutil
import signal
import tempfile
import uuid
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

from course import steps

MACHINE = dict(os.environ)  # for tests that download

# The same examples in every run, however slow the machine is.
settings.register_profile("course", derandomize=True, deadline=None, database=None)
settings.load_profile("course")

TINY = {"depth": 4, "widen_factor": 1, "train_samples": 128, "test_samples": 64, "epochs": 2, "seed": 7}

LONGEST = "test_judge.py", "test_classroom.py", "test_attacks.py", "test_run.py"  # slow tests, for several minutes each


def pytest_configure(config):
    """Have all tests run behind a proxy that does not answer: what is on this machine has to be reached without one.

    Workers of xdist inherit the environment of their controller, which runs no tests: there, it stays as it is, or
    MACHINE would have the proxy, too.
    """
    if config.getoption("numprocesses") and not hasattr(config, "workerinput"):
        return
    os.environ.update(dict.fromkeys(("http_proxy", "https_proxy", "grpc_proxy"), "http://127.0.0.1:9"))
    for exception in ("no_proxy", "NO_PROXY"):
        os.environ.pop(exception, None)


def listen_to_interrupts():
    """Enable SIGINT, as preexec_fn of a process that a test interrupts: tests in the background ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_until_up(process, count):
    """Read what a process prints until so many lines end with "up"; fail with its errors if it ends before."""
    while count:
        line = process.stdout.readline()
        assert line, process.communicate()[1].decode()
        count -= line.endswith(b"up\n")


def pytest_collection_modifyitems(items):
    """Put fast tests first, then the files that take longest, so that none of these is left for the end."""

    def place(item):
        slow = item.get_closest_marker("slow") is not None
        return slow, slow and item.path.name not in LONGEST

    items.sort(key=place)


@pytest.fixture
def leftovers(monkeypatch):
    """Return a function that returns those processes, of all that the test started, which are still running.

    It knows them by an environment variable, which every descendant inherits. Another one names a folder for temporary
    files, which is removed after the test, with the files that killed processes left.
    """
    mark = str(uuid.uuid4())
    monkeypatch.setenv("COURSE_TEST_MARK", mark)
    temporary = Path(tempfile.mkdtemp())
    temporary.chmod(0o755)  # ranks in a sandbox run as another user
    monkeypatch.setenv("TMPDIR", str(temporary))

    def marked() -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                if process.pid != os.getpid() and process.environ().get("COURSE_TEST_MARK") == mark:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def wait_and_find() -> list[psutil.Process]:
        _, alive = psutil.wait_procs(marked(), timeout=30)
        return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]

    yield wait_and_find
    for process in marked():
        process.kill()
    shutil.rmtree(temporary, ignore_errors=True)


@pytest.fixture(params=steps.STEPS, ids=lambda step: step.name)
def step(request):
    return request.param
