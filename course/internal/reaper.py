"""Run a command so that none of its processes outlives the one that asked for it.

    python -m course.internal.reaper mpirun -np 2 python script.py

Standard input is the lifeline: when it closes, because its owner closed it or was killed, the reaper terminates the
command, and kills it if it has not ended some seconds later. Processes that the command leaves behind, in sessions of
their own too, are killed before the reaper exits. The command inherits the file descriptors that its owner passed on.
Its temporary files are in a folder of its own, which is removed at the end: killed processes do not remove theirs.

Reaped is the owner's side of it.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import IO

import psutil

PATIENCE = 5  # seconds between asking a process to end and killing it
PR_SET_CHILD_SUBREAPER = 36  # from linux/prctl.h


class Reaped:
    """A command that runs under a reaper.

    Attributes:
        pid: of the reaper, an ancestor of all processes of the command.
        output: what the command prints to standard output and standard error, as bytes.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None):
        """Start the command.

        Args:
            command: the program and its arguments.
            environment: all environment variables of the command; this process's own if None.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", "course.internal.reaper", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        self._lifeline: IO[bytes] = self._process.stdin
        self.output: IO[bytes] = self._process.stdout
        self.pid = self._process.pid

    def end(self) -> None:
        """Ask the reaper to end the command, without waiting for it."""
        self._lifeline.close()

    def wait(self) -> int:
        """Wait until all processes have ended, and return the exit status, or 128 plus the number of a signal."""
        return self._process.wait()

    def close(self) -> None:
        """End the command, and wait until all of its processes have ended."""
        self.end()
        self.wait()
        self.output.close()


def main(*command: str) -> int:
    """Run the command and return its exit status, or 128 plus the signal's number if a signal ended it."""
    _become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they reach the lifeline's owner, who decides
    temporary = tempfile.mkdtemp(prefix="course-")
    try:
        code = _run(command, os.environ | {"TMPDIR": temporary})
        _kill_descendants()
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command until it ends or is ended, and return its exit status, or the signal's number as a negative."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, close_fds=False, preexec_fn=_default_signals
    )
    threading.Thread(target=_end_when_lifeline_closes, args=[process], daemon=True).start()
    return process.wait()


def _become_subreaper() -> None:
    """Adopt orphaned descendants, so that psutil still finds them below this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _end_when_lifeline_closes(process: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1):  # not sys.stdin: a thread that waits in it cannot be left behind at exit
        pass
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


def _kill_descendants() -> None:
    """Kill all descendants, and those that they start meanwhile, until none is left."""
    while descendants := psutil.Process().children(recursive=True):
        for process in descendants:
            try:
                process.kill()
                process.wait(PATIENCE)
            except psutil.Error:
                continue


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
