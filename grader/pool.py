"""Running one script after another, or side by side: each in a sandbox of its own, all on forks of one warm process."""

import contextlib
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO

import psutil

from course import data
from course.steps import SOLUTIONS
from grader import sandbox, tiny
from grader.clock import LATER
from grader.plans import IMAGES, Topology

SECONDS = 60  # a script may take, for all topologies, of what grader.clock counts
START = 300  # seconds that a process may take to get warm
MARGIN = 10  # seconds more until a process that does not answer is ended
ANSWER = 64 * 2**20  # bytes


class NoVerdictError(Exception):
    """The grader could not do its work; the message says why. Never the script's fault, never a verdict on it."""


class OverrunError(Exception):
    """The script brought its sandbox down or outlasted it; the message says which."""


class Pool:
    """Runs scripts, each in a sandbox of its own, on forks of one process with TensorFlow imported.

    A context manager: all processes end with it.
    """

    def __init__(self, sandboxed: bool = True):
        """Start to import. sandboxed=False runs scripts without protection, one at a time: for one's own only."""
        self.sandboxed = sandboxed
        self.lock = threading.Lock()
        self.folder = tempfile.TemporaryDirectory(prefix="grader-")
        self.tiny = Path(self.folder.name) / "data"
        self.process = None
        self.warm()
        tiny.make(self.tiny)
        Path(self.folder.name).chmod(0o755)

    def __enter__(self):
        """Return the pool."""
        return self

    def __exit__(self, *error):
        """End every process."""
        self._end_warm()
        self.folder.cleanup()

    def warm(self) -> None:
        """See to it that there is a process that is warm, or warming up."""
        if self.process and self.process.poll() is None:
            return
        if self.process:
            self._end_warm()
        self.orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.complaints = tempfile.TemporaryFile(dir=self.folder.name)  # noqa: SIM115  a pipe would fill up, unread
        self.process = subprocess.Popen(
            [f"{sys.prefix}/bin/python", "-m", "grader.warm"],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=self.complaints,
            env=sandbox.environment(),
            cwd=self.folder.name,
            start_new_session=True,
        )
        theirs.close()
        self.ready = False

    def run(self, script: str, name: str, topologies: Sequence[Topology], seconds: float = SECONDS) -> dict:
        """Run a script on topologies and return the answer of grader.ranks.

        Args:
            script: its text.
            name: of its file.
            topologies: on which to run it, one after another where there are few cores.
            seconds: how long it may take on all of them; more, as long as others keep it from the cores.

        Raises:
            OverrunError: it outlasted its time, or took its sandbox down.
            NoVerdictError: no warm process or no sandbox could be had.
        """
        with self.lock:
            self.warm()
            self._await_ready()
        with self._room() as (process, folder):
            job = {"script": script, "name": name, "folder": folder, "seconds": seconds}
            images = f"{data.SHIPPED if self.sandboxed else self.tiny}/{tiny.IMAGES}"
            job["topologies"] = [
                json.loads(json.dumps(asdict(topology)).replace(IMAGES, images)) for topology in topologies
            ]
            programs = {task.program for topology in topologies for task in topology.tasks if task.program}
            job["programs"] = {Path(program).name: (SOLUTIONS / program).read_text() for program in programs}
            job_read, job_write = os.pipe()
            answer_read, answer_write = os.pipe()
            with os.fdopen(answer_read, "rb") as answer, os.fdopen(job_write, "w") as work:
                try:
                    socket.send_fds(self.orders, [json.dumps({"sandbox": process}).encode()], [job_read, answer_write])
                    os.close(job_read)
                    os.close(answer_write)
                    json.dump(job, work)
                    work.close()
                except OSError as error:
                    raise NoVerdictError(f"The grader's own process has ended: {self._complaints() or error}") from None
                text = _read(answer, seconds + MARGIN)
        try:
            answered = json.loads(text)
        except ValueError:
            raise OverrunError("It took down the processes that it ran in.") from None
        if "broken" in answered:
            raise NoVerdictError(f"The grader's own process broke: {answered['broken']}")
        return answered

    @contextlib.contextmanager
    def _room(self) -> Iterator[tuple[int | None, str]]:
        """Make a sandbox and give the process to enter it by, and the folder to work in there."""
        if self.sandboxed:
            with contextlib.ExitStack() as stack:
                try:
                    process = stack.enter_context(sandbox.made(self.tiny))
                except OSError as error:
                    raise NoVerdictError(f"No sandbox could be made: {error}") from None
                yield process, "/tmp"
        else:
            with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                try:
                    yield None, folder
                finally:
                    _end(psutil.Process(self.process.pid).children(recursive=True))

    def _await_ready(self) -> None:
        """Wait until the process is warm.

        Raises:
            NoVerdictError: it did not get warm.
        """
        if not self.ready:
            self.orders.settimeout(START)
            with contextlib.suppress(OSError):
                self.ready = self.orders.recv(16) == b"ready"
        if not self.ready:
            raise NoVerdictError(f"The grader's own process did not start: {self._complaints() or 'no reason given'}")

    def _complaints(self) -> str:
        self.complaints.seek(0)
        return self.complaints.read().decode(errors="replace").strip()[-2000:]

    def _end_warm(self) -> None:
        inside = psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []
        self.process.kill()
        self.process.wait()
        _end(inside)
        self.orders.close()
        self.complaints.close()


def _end(processes: list[psutil.Process]) -> None:
    """End processes and wait until they are gone."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=MARGIN)


def _read(answer: IO[bytes], seconds: float) -> bytes:
    """Read all of an answer, from a process that may hang, flood or end.

    Raises:
        OverrunError: it took longer than the seconds, and one for each LATER, or grew larger than any answer is.
    """
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(answer, selectors.EVENT_READ)
        text = b""
        while len(text) <= ANSWER:
            if not selector.select(max(0, deadline - time.monotonic())):
                raise OverrunError(f"It did not end within {seconds:g} s.")
            piece = os.read(answer.fileno(), 2**20)
            if not piece:
                return text
            text += piece
            deadline += piece.count(LATER)
    raise OverrunError("It took down the processes that it ran in.")
