"""The reaper: it passes on output and exit status, and leaves no process of the command."""

import signal
import sys

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
