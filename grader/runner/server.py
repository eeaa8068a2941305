"""The fork server, seen from the process that sends it orders.

Importing TensorFlow takes seconds and forking does not, so a job that is done in a fork begins at once.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

START = 300  # seconds that a fork server may take to import
PATIENCE = 10  # seconds for processes to be gone after they were killed
MODULE = "grader.runner.fork_server"  # its program


class ServerError(Exception):
    """A fork server has ended, or did not start; the message says why."""


class ForkServer:
    """A process that has TensorFlow imported, and forks for each job."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        """Start to import.

        Args:
            folder: that it works in.
            environment: all its variables.
        """
        self.orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.complaints = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  a pipe would fill up, unread
        self.process = subprocess.Popen(
            [f"{sys.prefix}/bin/python", "-m", MODULE],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=self.complaints,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        theirs.close()
        self.ready = False

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def await_ready(self) -> None:
        """Wait until it has imported.

        Raises:
            ServerError: it ended before, or took too long.
        """
        if not self.ready:
            self.orders.settimeout(START)
            with contextlib.suppress(OSError):
                self.ready = self.orders.recv(16) == b"ready"
        if not self.ready:
            raise ServerError(f"The grader's own process did not start: {self._said() or 'no reason given'}")

    def send(self, process: int | None, pipes: list[int]) -> None:
        """Have it fork into the sandbox of a process, with the fork's ends of pipes, which are closed here.

        Raises:
            ServerError: it has ended.
        """
        try:
            socket.send_fds(self.orders, [json.dumps(process).encode()], pipes)
        except OSError as error:
            raise ServerError(f"The grader's own process has ended: {self._said() or error}") from None
        finally:
            for pipe in pipes:
                os.close(pipe)

    def end_forks(self) -> None:
        """End all forks and what they started."""
        end(psutil.Process(self.process.pid).children(recursive=True))

    def end(self) -> None:
        """End it and all forks."""
        forks = psutil.Process(self.process.pid).children(recursive=True) if self.alive else []
        self.process.kill()
        self.process.wait()
        end(forks)
        self.orders.close()
        self.complaints.close()

    def _said(self) -> str:
        self.complaints.seek(0)
        return self.complaints.read().decode(errors="replace").strip()[-2000:]


def end(processes: list[psutil.Process]) -> None:
    """End processes and wait until they are gone."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=PATIENCE)
