"""The reaper: it passes on output and exit status, and leaves no process of the command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from course.internal.reaper import Reaped

# Leaves a process in a session of its own, with standard output closed, so that only the reaper can end it.
LEAVES_ONE = """
import subprocess, sys
subprocess.Popen(["sleep", "99"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""


def test_output_and_exit_status_are_passed_on():
    command = Reaped(["bash", "-c", "echo out; echo error >&2; exit 7"])
    assert command.output.read() == b"out\nerror\n" and command.wait() == 7
    command.close()


def test_a_signal_is_passed_on_as_a_shell_reports_it():
    command = Reaped(["bash", "-c", "kill -9 $$"])
    assert command.wait() == 128 + signal.SIGKILL
    command.close()


def test_the_environment_is_replaced():
    command = Reaped(["bash", "-c", "echo $ONE$HOME"], {"ONE": "1", "PATH": "/usr/bin:/bin"})
    assert command.output.read() == b"1\n"
    command.close()


@pytest.mark.parametrize("ignored", ["", "trap '' TERM; "])
def test_closing_ends_the_command(leftovers, ignored):
    command = Reaped(["bash", "-c", f"{ignored}echo up; while true; do sleep 0.1; done"])
    assert command.output.readline() == b"up\n"
    command.close()
    assert leftovers() == []


def test_a_process_that_the_command_leaves_behind_is_killed(leftovers):
    command = Reaped([sys.executable, "-c", LEAVES_ONE])
    assert command.wait() == 0
    command.close()
    assert leftovers() == []


# Leaves a temporary file, and then waits to be killed.
LEAVES_A_FILE = """
import os, signal, tempfile
print(tempfile.NamedTemporaryFile(delete=False).name, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("end", [Reaped.close, lambda command: os.kill(_child(command), signal.SIGKILL)])
def test_temporary_files_are_removed(leftovers, end):
    command = Reaped([sys.executable, "-c", LEAVES_A_FILE])
    left = Path(command.output.readline().decode().strip())
    assert left.exists()
    end(command)
    command.wait()
    command.close()
    assert not left.parent.exists() and leftovers() == []


def test_temporary_files_are_removed_after_the_owner_was_killed(leftovers):
    owner = f"from course.internal.reaper import Reaped\ncommand = Reaped({[sys.executable, '-c', LEAVES_A_FILE]})\n"
    owner += "print(command.output.readline().decode(), end='', flush=True)\nprint(command.output.read())"
    with subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE) as process:
        left = Path(process.stdout.readline().decode().strip())
        assert left.exists()
        process.kill()
    assert leftovers() == []
    assert not left.parent.exists()


def _child(command):
    return psutil.Process(command.pid).children()[0].pid
