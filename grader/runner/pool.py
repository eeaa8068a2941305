"""Run scripts and decide on them, one after another or side by side: each in a sandbox, on forks of fork servers."""

import contextlib
import json
import os
import selectors
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Self

import msgspec

from course import data
from course.steps import SOLUTIONS
from grader.sandbox.time_budget import LATER, TURN
from grader.terms.facts import Ran
from grader.terms.job import IMAGES, SHIPPED, Job, Order, Topology, side_by_side
from grader.runner import synthetic_data
from grader.sandbox import policy
from grader.runner import watched_run
from grader.runner.server import ForkServer, ServerError

SECONDS = 60  # a script may take, for all topologies, of what the time budget counts
IDLE = 300  # seconds without a run until the fork servers give their memory back
LONGEST_DECISION = 120  # seconds: on a busy machine they are more than the processor time that it may take
MARGIN = 10  # seconds more until a process that does not answer is ended
ANSWER = 64 * 2**20  # bytes

OF_RUNS, OF_DECISIONS = "grader.runner.fork_server", "grader.decision_server"  # the programs of fork servers
WHOLE = "course", "grader", "solutions", "uv.lock"  # what can be read where decisions are made
ENDED = b'{"ended":'  # begins what is there in the place of a decision


class NoVerdictError(Exception):
    """The grader could not do its work; the message says why. Never the script's fault, never a verdict on it."""


class OverrunError(Exception):
    """The script brought its sandbox down or outlasted it; the message says which."""


class Pool:
    """Runs scripts, each in a sandbox of its own, on forks of a process with TensorFlow imported, and decides on them.

    A context manager: all processes end with it. The fork servers end when there is no run for some minutes, too, and
    the next run starts them again.
    """

    def __init__(self, sandboxed: bool = True, idle: float = IDLE):
        """Start to import.

        Args:
            sandboxed: False runs scripts without protection, one at a time: for one's own only. The attribute may be
                set until the first run.
            idle: seconds without a run after which the fork servers end.
        """
        self.sandboxed, self.idle = sandboxed, idle
        self.lock = threading.Lock()
        self.running = 0  # runs and decisions
        self.timer: threading.Timer | None = None  # ends the fork servers; None while there are runs
        self.folder = tempfile.TemporaryDirectory(prefix="grader-")
        self.data = Path(self.folder.name) / "data"
        self.servers: dict[str, ForkServer] = {}  # by module
        self.desk = contextlib.ExitStack()  # keeps the sandbox that decisions are made in
        self.at_desk: int | None = None  # the process to enter it by
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
            self._end()
        self.folder.cleanup()

    def start(self) -> None:
        """Ensure that the fork servers are running or starting."""
        for module in (OF_RUNS, OF_DECISIONS):
            server = self.servers.get(module)
            if server and not server.alive:
                server.end()
            if not (server and server.alive):
                self.servers[module] = ForkServer(module, Path(self.folder.name), policy.environment())

    def decide(self, case: bytes) -> bytes:
        """Have a grader.deciding.Case decided on, as msgpack, and return the Decision as JSON.

        Raises:
            OverrunError: what the script reported takes too long to look at.
            NoVerdictError: no fork server or no sandbox could be had.
        """
        with self._in_use():
            server = self._ready(OF_DECISIONS)
            with self.lock, _no_verdict():
                if self.sandboxed and self.at_desk is None:
                    network = self.desk.enter_context(policy.network())
                    self.at_desk = self.desk.enter_context(policy.made(self.data, network, WHOLE))
            try:
                with _no_verdict():
                    (decision,) = _exchange(server, {"sandbox": self.at_desk}, case, [LONGEST_DECISION])
            except OverrunError:  # its processor time is limited: the machine has none to give
                raise NoVerdictError("The machine was too busy to decide: judge it again.") from None
        if ENDED not in decision:
            return decision
        if json.loads(decision[decision.index(ENDED) :])["ended"] == -signal.SIGXCPU:
            raise OverrunError("What the ranks reported takes too long to judge: no right script reports as much.")
        raise NoVerdictError("The grader's own process ended before it had decided.")

    def run(
        self,
        script: str,
        name: str,
        topologies: Sequence[Topology],
        seconds: float = SECONDS,
        begins: Callable[[str], object] = lambda cluster: None,
    ) -> Ran:
        """Run a script on topologies and return what that leaves, which nothing has looked at yet.

        Args:
            script: its text.
            name: of its file.
            topologies: on which to run it, one after another where there are few cores.
            seconds: how long it may take on all of them; more, as long as other processes keep the cores from it.
            begins: called with the description of a cluster when the script starts there.

        Raises:
            OverrunError: it outlasted its time, or took its sandbox down.
            NoVerdictError: no fork server or no sandbox could be had, or a witness ended.
        """
        if all(topology.watcher for topology in topologies):
            return self._watch(script, name, topologies, seconds, begins)
        witnessed = next((topology for topology in topologies if topology.witness), None)
        with self._in_use(), self._room(witnessed) as (order, folder):  # made while the fork server imports
            server = self._ready(OF_RUNS)
            job = Job(script, name, folder, seconds, self._placed(topologies), _programs(topologies))
            clusters = _descriptions(topologies)
            with _no_verdict():
                found = _exchange(
                    server,
                    order,
                    msgspec.json.encode(job),
                    [seconds + MARGIN, 3 * MARGIN],
                    lambda: begins(next(clusters, "")),
                )
        if witnessed and not found[1]:  # it testifies whatever the script does, unless something ended it
            raise NoVerdictError("The course's own rank, next to which the script trains, has ended: judge it again.")
        return Ran(*found)

    def _watch(
        self, script: str, name: str, topologies: Sequence[Topology], seconds: float, begins: Callable[[str], object]
    ) -> Ran:
        """Do as run() does on real hosts, which need no fork server."""
        begins("; ".join(topology.description for topology in topologies))
        try:
            with _no_verdict():
                return Ran(watched_run.run(script, name, topologies, seconds, self.data, self.sandboxed))
        except watched_run.LateError as error:
            raise OverrunError(str(error)) from None
        except watched_run.WatchError as error:
            raise NoVerdictError(str(error)) from None

    def _ready(self, module: str) -> ForkServer:
        """Return a fork server that has imported.

        Raises:
            NoVerdictError: it did not start.
        """
        with self.lock, _no_verdict():
            self.servers[module].await_ready()
            return self.servers[module]

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
                self._end()

    def _placed(self, topologies: Sequence[Topology]) -> tuple[Topology, ...]:
        """Return topologies with the folders of images in the places of IMAGES and SHIPPED."""
        folder = data.SHIPPED if self.sandboxed else self.data
        text = msgspec.json.encode(topologies)
        for place, name in ((IMAGES, synthetic_data.FOLDER), (SHIPPED, synthetic_data.SHIPPED)):
            text = text.replace(place.encode(), f"{folder}/{name}".encode())
        return msgspec.json.decode(text, type=tuple[Topology, ...])

    @contextlib.contextmanager
    def _room(self, witnessed: Topology | None) -> Iterator[tuple[Order, str]]:
        """Make a sandbox, and another one for a witness, and give what the fork server needs and the folder inside."""
        if self.sandboxed:
            with contextlib.ExitStack() as stack:
                with _no_verdict():
                    network = stack.enter_context(policy.network())
                    process = stack.enter_context(policy.made(self.data, network))
                    other = stack.enter_context(policy.made(self.data, network)) if witnessed else None
                yield Order(process, other, witnessed), "/tmp"
        else:
            with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
                try:
                    yield Order(None, None, witnessed), folder
                finally:
                    self.servers[OF_RUNS].end_forks()

    def _end(self) -> None:
        """End the fork servers and the sandbox of decisions."""
        for server in self.servers.values():
            server.end()
        self.desk.close()
        self.at_desk = None


def _programs(topologies: Sequence[Topology]) -> dict[str, str]:
    """Return the text of each solution that does a task, by its file name."""
    programs = {task.program for topology in topologies for task in topology.tasks if task.program}
    return {Path(program).name: (SOLUTIONS / program).read_text() for program in programs}


def _descriptions(topologies: Sequence[Topology]) -> Iterator[str]:
    """Give what runs in each turn, in words; a cluster with a witness goes along with another one."""
    described = {topology.name: topology.description for topology in topologies if not topology.witness}
    for names in side_by_side(topologies):
        yield "; ".join(described[name] for name in names if name in described)


@contextlib.contextmanager
def _no_verdict() -> Iterator[None]:
    """Turn what breaks here into a NoVerdictError: it is no fault of the script's."""
    try:
        yield
    except ServerError as error:
        raise NoVerdictError(str(error)) from None
    except OSError as error:
        raise NoVerdictError(f"No sandbox could be made: {error}") from None


def _exchange(
    server: ForkServer,
    order: object,
    given: bytes,
    limits: list[float],
    begins: Callable[[], object] = lambda: None,
) -> list[bytes]:
    """Send an order, with what the fork is given, and return what comes back by each of so many pipes.

    Args:
        server: the fork server.
        order: for it.
        given: to the fork.
        limits: for each pipe, the seconds that may pass until all of it has come. The first one is the script's.
        begins: called for each TURN in the script's.

    Raises:
        OverrunError: the script's seconds have passed.
        ServerError: it has ended, or what comes by another pipe is late, which is no fault of the script's.
    """
    (read, write), back = os.pipe(), [os.pipe() for _ in limits]
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(os.fdopen(write, "wb"))
        answers = [stack.enter_context(os.fdopen(end, "rb")) for end, _ in back]
        server.send(msgspec.json.encode(order), [read, *(end for _, end in back)])
        with contextlib.suppress(BrokenPipeError):  # the fork has ended, and what it wrote says so
            work.write(given)
            work.close()
        found = [_read(answers[0], limits[0], begins)]
        try:
            return found + [_read(answer, seconds) for answer, seconds in zip(answers[1:], limits[1:], strict=True)]
        except OverrunError:
            raise ServerError("The machine was too busy to see all that the script did: judge it again.") from None


def _read(answer: IO[bytes], seconds: float, begins: Callable[[], object] = lambda: None) -> bytes:
    """Read all of an answer, from a process that may hang, flood or end, and call begins for each TURN in it.

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
            for _ in range(piece.count(TURN)):
                begins()
    raise OverrunError("It took down the processes that it ran in.")
