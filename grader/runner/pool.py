"""Running scripts, one after another or side by side: each in a sandbox of its own, all on forks of one fork server."""

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
from pathlib import Path
from typing import IO, Self

import msgspec
import psutil

from course import data
from course.steps import SOLUTIONS
from grader.facts import Answer
from grader.job import IMAGES, Job, Order, Topology
from grader.runner import sandbox, synthetic_data
from grader.runner.budget import LATER

SECONDS = 60  # a script may take, for all topologies, of what the time budget counts
START = 300  # seconds that the fork server may take to import
IDLE = 300  # seconds without a run until the fork server gives its memory back
MARGIN = 10  # seconds more until a process that does not answer is ended
ANSWER = 64 * 2**20  # bytes


class NoVerdictError(Exception):
    """The grader could not do its work; the message says why. Never the script's fault, never a verdict on it."""


class OverrunError(Exception):
    """The script brought its sandbox down or outlasted it; the message says which."""


class GoneError(OverrunError):
    """The processes that the script ran in are gone, and none said why."""


class Pool:
    """Runs scripts, each in a sandbox of its own, on forks of one process with TensorFlow imported.

    A context manager: all processes end with it. The fork server ends when there is no run for some minutes, too, and
    the next run starts it again.
    """

    def __init__(self, sandboxed: bool = True, idle: float = IDLE):
        """Start to import.

        Args:
            sandboxed: False runs scripts without protection, one at a time: for one's own only.
            idle: seconds without a run after which the fork server ends.
        """
        self.sandboxed, self.idle = sandboxed, idle
        self.lock = threading.Lock()
        self.running = 0  # runs
        self.timer: threading.Timer | None = None  # ends the fork server; None while there are runs
        self.folder = tempfile.TemporaryDirectory(prefix="grader-")
        self.data = Path(self.folder.name) / "data"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()
        synthetic_data.make(self.data)
        Path(self.folder.name).chmod(0o755)

    def __enter__(self) -> Self:
        """Return the pool."""
        return self

    def __exit__(self, *error: object) -> None:
        """End every process."""
        with self.lock:
            if self.timer:
                self.timer.cancel()
            self._end_fork_server()
        self.folder.cleanup()

    def start(self) -> None:
        """Ensure that the fork server is running or starting."""
        if self.process and self.process.poll() is None:
            return
        if self.process:
            self._end_fork_server()
        self.orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.complaints = tempfile.TemporaryFile(dir=self.folder.name)  # noqa: SIM115  a pipe would fill up, unread
        self.process = subprocess.Popen(
            [f"{sys.prefix}/bin/python", "-m", "grader.runner.fork_server"],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=self.complaints,
            env=sandbox.environment(),
            cwd=self.folder.name,
            start_new_session=True,
        )
        theirs.close()
        self.ready = False

    def run(self, script: str, name: str, topologies: Sequence[Topology], seconds: float = SECONDS) -> Answer:
        """Run a script on topologies and return what the supervisor answers.

        Args:
            script: its text.
            name: of its file.
            topologies: on which to run it, one after another where there are few cores.
            seconds: how long it may take on all of them; more, as long as other processes keep the cores from it.

        Raises:
            OverrunError: it outlasted its time, or took its sandbox down.
            NoVerdictError: no fork server or no sandbox could be had.
        """
        witnessed = next((topology for topology in topologies if topology.witness), None)
        with self._in_use(), self._room(witnessed) as (order, folder):  # made while the fork server imports
            with self.lock:
                self._await_ready()
            job = Job(script, name, folder, seconds, self._placed(topologies), _programs(topologies))
            answer, testimony = self._answered(job, order)
        try:
            answered = json.loads(answer)
        except ValueError:
            raise GoneError("It took down the processes that it ran in.") from None
        if "broken" in answered:
            raise NoVerdictError(f"The grader's own process broke: {answered['broken']}")
        answered["testimony"] = json.loads(testimony) if testimony else None
        return msgspec.convert(answered, Answer)

    @contextlib.contextmanager
    def _in_use(self) -> Iterator[None]:
        """Have the fork server running, and let it end when it has been idle for long after this."""
        with self.lock:
            if self.timer:
                self.timer.cancel()
                self.timer = None
            self.start()
            self.running += 1
        try:
            yield
        finally:
            with self.lock:
                self.running -= 1
                if not self.running:
                    self.timer = threading.Timer(self.idle, self._rest)
                    self.timer.daemon = True
                    self.timer.start()

    def _rest(self) -> None:
        """End the fork server, unless a run began when it was about to end."""
        with self.lock:
            if self.timer is threading.current_thread():
                self._end_fork_server()

    def _placed(self, topologies: Sequence[Topology]) -> tuple[Topology, ...]:
        """Return topologies with the folder of images in the place of IMAGES."""
        images = f"{data.SHIPPED if self.sandboxed else self.data}/{synthetic_data.FOLDER}"
        text = msgspec.json.encode(topologies).replace(IMAGES.encode(), images.encode())
        return msgspec.json.decode(text, type=tuple[Topology, ...])

    def _answered(self, job: Job, order: Order) -> tuple[bytes, bytes]:
        """Send a job to a fork of the fork server, and return the answer and what a witness says, if there is one."""
        pipes = [os.pipe() for _ in ("job", "answer", "testimony")]
        (job_read, job_write), (answer_read, answer_write), (testimony_read, testimony_write) = pipes
        with (
            os.fdopen(answer_read, "rb") as answer,
            os.fdopen(testimony_read, "rb") as testimony,
            os.fdopen(job_write, "wb") as work,
        ):
            theirs = [job_read, answer_write, testimony_write]
            try:
                socket.send_fds(self.orders, [msgspec.json.encode(order)], theirs)
                for pipe in theirs:
                    os.close(pipe)
                work.write(msgspec.json.encode(job))
                work.close()
            except OSError as error:
                raise NoVerdictError(f"The grader's own process has ended: {self._complaints() or error}") from None
            return _read(answer, job.seconds + MARGIN), _read(testimony, MARGIN)

    @contextlib.contextmanager
    def _room(self, witnessed: Topology | None) -> Iterator[tuple[Order, str]]:
        """Make a sandbox, and another one for a witness, and give what the fork server needs and the folder inside."""
        if self.sandboxed:
            with contextlib.ExitStack() as stack:
                try:
                    network = stack.enter_context(sandbox.network())
                    process = stack.enter_context(sandbox.made(self.data, network))
                    beside = stack.enter_context(sandbox.made(self.data, network)) if witnessed else None
                except OSError as error:
                    raise NoVerdictError(f"No sandbox could be made: {error}") from None
                yield Order(process, beside, witnessed), "/tmp"
        else:
            with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                try:
                    yield Order(None, None, witnessed), folder
                finally:
                    assert self.process is not None
                    _end(psutil.Process(self.process.pid).children(recursive=True))

    def _await_ready(self) -> None:
        """Wait until the fork server has imported.

        Raises:
            NoVerdictError: it ended before, or took too long.
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

    def _end_fork_server(self) -> None:
        assert self.process is not None
        inside = psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []
        self.process.kill()
        self.process.wait()
        _end(inside)
        self.orders.close()
        self.complaints.close()


def _programs(topologies: Sequence[Topology]) -> dict[str, str]:
    """Return the text of each solution that does a task, by its file name."""
    programs = {task.program for topology in topologies for task in topology.tasks if task.program}
    return {Path(program).name: (SOLUTIONS / program).read_text() for program in programs}


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
