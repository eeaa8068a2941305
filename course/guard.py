"""Run a command so that nothing of it outlives whoever asked for it.

    python -m course.guard mpirun -np 2 python script.py

Standard input is the lifeline: when it closes, because its owner closed it or was killed, the command is asked to end,
and soon made to. Whatever the command leaves behind, in a session of its own too, is ended before the guard ends. The
command gets the file descriptors that its owner passed on.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading

import psutil

PATIENCE = 5  # seconds between asking a process to end and making it


def _become_subreaper() -> None:
    """Have orphans among the descendants become children of this process, so that none is lost sight of."""
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def _end_descendants() -> None:
    """Kill all that was started and is still there, and what that starts meanwhile."""
    while descendants := psutil.Process().children(recursive=True):
        for process in descendants:
            try:
                process.kill()
                process.wait(PATIENCE)
            except psutil.Error:
                continue


def _end_when_lifeline_closes(process: subprocess.Popen) -> None:
    while os.read(0, 1):  # not sys.stdin: a thread that waits in it cannot be left behind at exit
        pass
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


def main(*command: str) -> int:
    """Run the command and return its exit status; 128 and the signal's number, where a signal ended it."""
    _become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # they reach the lifeline's owner, who decides
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, close_fds=False, preexec_fn=_default_signals)
    threading.Thread(target=_end_when_lifeline_closes, args=[process], daemon=True).start()
    code = process.wait()
    _end_descendants()
    return code if code >= 0 else 128 - code


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
