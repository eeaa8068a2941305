"""Run scripts, one after another or side by side: each in a sandbox of its own, on forks of a fork server."""

import contextlib
import os
import selectors
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

import msgspec

from course import data
from course.steps import SOLUTIONS
from grader.runner import messages, synthetic_data, watched_run
from grader.runner.server import ForkServer, ServerError
from grader.sandbox import policy
from grader.terms.clusters import IMAGES, SHIPPED, AnyCluster, Watched
from grader.terms.job import Answer, Broken, Extended, Job, TurnBegan

SECONDS = 60  # a script may take, for all clusters, of what the time budget counts
IDLE = 300  # seconds without a run until the fork server gives its memory back
MARGIN = 10  # seconds more until a process that does not answer is ended

Begins = Callable[[str], object]  # called with the description of a cluster when the script starts there


class NoVerdictError(Exception):
    """The grader could not do its work; the message says why. Never the script's fault, never a verdict on it."""


class OverrunError(Exception):
    """The script outlasted its sandbox; the message says how."""


class Pool:
    """Runs scripts, each in a sandbox of its own, on forks of a process with TensorFlow imported.

    A context manager: all processes end with it. The fork server ends when there is no run for some minutes, too, and
    the next run starts it again.
    """

    def __init__(self, sandboxed: bool = True, idle: float = IDLE):
        """Start to import.

        Args:
            sandboxed: False runs scripts without protection, one at a time: for one's own only. The attribute may be
                set until the first run.
            idle: seconds without a run after which the fork server ends.
        """
        self.sandboxed, self.idle = sandboxed, idle
        self.lock = threading.Lock()
        self.running = 0
        self.timer: threading.Timer | None = None  # ends the fork server; None while there are runs
        self.folder = tempfile.TemporaryDirectory(prefix="grader-")
        self.data = Path(self.folder.name) / "data"
        self.server: ForkServer | None = None
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
            if self.server:
                self.server.end()
        self.folder.cleanup()

    def start(self) -> None:
        """Ensure that the fork server is running or starting."""
        if self.server and not self.server.alive:
            self.server.end()
        if not (self.server and self.server.alive):
            self.server = ForkServer(Path(self.folder.name), policy.environment())

    def run(
        self,
        script: str,
        name: str,
        clusters: Sequence[AnyCluster],
        seconds: float = SECONDS,
        begins: Begins = lambda cluster: None,
    ) -> Answer:
        """Run a script on clusters and return what that leaves.

        Args:
            script: its text.
            name: of its file.
            clusters: on which to run it, one after another where there are few cores.
            seconds: how long it may take on all of them; more, as long as other processes keep the cores from it.
            begins: called with the description of a cluster when the script starts there.

        Raises:
            OverrunError: it outlasted its time.
            NoVerdictError: no fork server or no sandbox could be had, or the processes that the script ran in are gone.
        """
        if all(isinstance(cluster, Watched) for cluster in clusters):
            return self._watch(script, name, clusters, seconds, begins)
        with self._in_use(), self._sandbox() as (process, folder):  # made while the fork server imports
            placed = self._placed(clusters)
            job = Job(script, name, folder, seconds, placed, _programs(clusters), process is not None)
            with _no_verdict():
                server = self._ready()
                return _exchange(server, process, job, seconds + MARGIN, begins)

    def _watch(self, script: str, name: str, clusters: Sequence[AnyCluster], seconds: float, begins: Begins) -> Answer:
        """Do as run() does on real hosts, which need no fork server."""
        begins("; ".join(cluster.description for cluster in clusters))
        watched = [cluster for cluster in clusters if isinstance(cluster, Watched)]
        try:
            with _no_verdict():
                return watched_run.run(script, name, watched, seconds, self.data, self.sandboxed)
        except watched_run.LateError as error:
            raise OverrunError(str(error)) from None
        except watched_run.WatchError as error:
            raise NoVerdictError(str(error)) from None

    def _ready(self) -> ForkServer:
        """Return the fork server, once it has imported.

        Raises:
            ServerError: it did not start.
        """
        with self.lock:
            assert self.server
            self.server.await_ready()
            return self.server

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
            if self.timer is threading.current_thread() and self.server:
                self.server.end()

    def _placed(self, clusters: Sequence[AnyCluster]) -> tuple[AnyCluster, ...]:
        """Return clusters with the folders of images in the places of IMAGES and SHIPPED."""
        folder = data.SHIPPED if self.sandboxed else self.data
        text = msgspec.json.encode(clusters)
        for place, name in ((IMAGES, synthetic_data.FOLDER), (SHIPPED, synthetic_data.SHIPPED)):
            text = text.replace(place.encode(), f"{folder}/{name}".encode())
        return msgspec.json.decode(text, type=tuple[AnyCluster, ...])

    @contextlib.contextmanager
    def _sandbox(self) -> Iterator[tuple[int | None, str]]:
        """Make a sandbox, and give the process to enter it by, if any, and the folder to work in."""
        if self.sandboxed:
            with contextlib.ExitStack() as stack:
                with _no_verdict():
                    process = stack.enter_context(policy.made(self.data))
                yield process, "/tmp"
        else:
            with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                try:
                    yield None, folder
                finally:
                    if self.server:
                        self.server.end_forks()


def _programs(clusters: Sequence[AnyCluster]) -> dict[str, str]:
    """Return the text of each solution that does a task, by its file name."""
    programs = {task.program for cluster in clusters for task in cluster.tasks if task.program}
    return {Path(program).name: (SOLUTIONS / program).read_text() for program in programs}


@contextlib.contextmanager
def _no_verdict() -> Iterator[None]:
    """Turn what breaks here into a NoVerdictError: it is no fault of the script's."""
    try:
        yield
    except ServerError as error:
        raise NoVerdictError(str(error)) from None
    except OSError as error:
        raise NoVerdictError(f"No sandbox could be made: {error}") from None


def _exchange(server: ForkServer, process: int | None, job: Job, seconds: float, begins: Begins) -> Answer:
    """Have a job done in a fork, and return the answer.

    Raises:
        OverrunError: the seconds have passed, and one for each Extended.
        NoVerdictError: the fork is gone, or its answer cannot be read.
        ServerError: the fork server has ended.
    """
    (job_read, job_write), (answer_read, answer_write) = os.pipe(), os.pipe()
    with os.fdopen(job_write, "wb") as work, os.fdopen(answer_read, "rb"):
        server.send(process, [job_read, answer_write])
        with contextlib.suppress(BrokenPipeError):  # the fork has ended, and what it wrote says so
            work.write(msgspec.msgpack.encode(job))
            work.close()
        return _await(answer_read, seconds, begins)


def _await(answer: int, seconds: float, begins: Begins) -> Answer:
    """Read messages up to the answer, from a process that may hang, flood or end."""
    deadline, inbox = time.monotonic() + seconds, messages.Inbox()
    with selectors.DefaultSelector() as selector:
        selector.register(answer, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0, deadline - time.monotonic())):
                raise OverrunError(f"It did not end within {seconds:g} s.")
            piece = os.read(answer, 2**20)
            if not piece:
                raise NoVerdictError(
                    "The processes that the script ran in are gone: the script ended them, or the machine did. "
                    "Please run the check again."
                )
            try:
                for message in inbox.add(piece):
                    match message:
                        case Answer():
                            return message
                        case Broken(why):
                            raise NoVerdictError(f"The grader's own process broke: {why}")
                        case Extended():
                            deadline += 1
                        case TurnBegan(clusters):
                            begins(clusters)
            except messages.UnreadableError:
                raise NoVerdictError("What the script's processes sent cannot be read.") from None
