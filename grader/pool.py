"""Warm processes in sandboxes, each for one script: made ahead, used once, ended.

The topologies that every script is run on are here too: simulated hosts with slots and GPUs.
"""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from course import data
from grader import sandbox

SECONDS = 60  # a script may take, for all topologies
START = 300  # seconds that a process may take to get warm
MARGIN = 10  # seconds more until a warm process that does not answer is ended
ANSWER = 64 * 2**20  # bytes

# Nine training batches and five of the test set: a share for two ranks is none for three.
SIZES = {
    "widen-factor": 1,
    "batch-size": 2,
    "val-batch-size": 2,
    "train-samples": 18,
    "test-samples": 10,
    "epochs": 1,
}
ARGUMENTS = [part for name, value in SIZES.items() for part in (f"--{name}", str(value))]


@dataclass(frozen=True)
class Topology:
    """Simulated hosts, each with slots for ranks and GPUs."""

    name: str
    description: str
    hosts: int
    slots: int
    gpus: int


TOPOLOGIES = (
    Topology("one-host", "2 ranks on one host", 1, 2, 2),
    Topology("two-hosts", "2 hosts with a rank each", 2, 1, 2),
    Topology("three-ranks", "3 ranks on one host without GPUs", 1, 3, 0),
)
DESCRIPTIONS = {topology.name: topology.description for topology in TOPOLOGIES}


class NoVerdictError(Exception):
    """The grader could not do its work; the message says why. Never the script's fault, never a verdict on it."""


class OverrunError(Exception):
    """The script brought its sandbox down or outlasted it; the message says which."""


class Pool:
    """A supply of warm processes. A context manager: all of them end with it."""

    def __init__(self, sandboxed: bool = True):
        """Hold no process yet. sandboxed=False runs scripts without protection: for one's own only."""
        self.sandboxed = sandboxed
        self.waiting: deque[subprocess.Popen] = deque()
        self.lock = threading.Lock()
        self.folder = tempfile.TemporaryDirectory(prefix="grader-")
        self.tiny = Path(self.folder.name) / "data"
        data.cut(Path(data.SHIPPED), self.tiny, train_per_class=3, test_per_class=2)
        for path in (Path(self.folder.name), self.tiny):
            path.chmod(0o755)

    def __enter__(self):
        """Return the pool."""
        return self

    def __exit__(self, *error):
        """End every process."""
        for process in self.waiting:
            _end(process)
        self.folder.cleanup()

    def warm(self, count: int = 1) -> None:
        """See to it that so many processes are warm, or warming up."""
        while len(self.waiting) < count:
            inner = [f"{sys.prefix}/bin/python", "-m", "grader.warm"]
            command = sandbox.command(inner, self.tiny) if self.sandboxed else inner
            complaints = tempfile.TemporaryFile(dir=self.folder.name)  # noqa: SIM115  a pipe would fill up, unread
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=None if self.sandboxed else os.environ | sandbox.environment(),
                start_new_session=True,
            )
            process.stderr = complaints
            self.waiting.append(process)

    def run(self, script: str, name: str, seconds: float = SECONDS) -> dict:
        """Run a script on all topologies and return the answer of grader.warm.

        Raises:
            OverrunError: it outlasted its time, or took its sandbox down.
            NoVerdictError: no warm process could be had.
        """
        with self.lock:
            self.warm()
            process = self.waiting.popleft()
        try:
            _await_ready(process)
            topologies = [asdict(topology) | {"arguments": ARGUMENTS} for topology in TOPOLOGIES]
            job = {"script": script, "name": name, "seconds": seconds, "topologies": topologies}
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
            line = _read_line(process, seconds + MARGIN)
            try:
                return json.loads(line)["topologies"]
            except (ValueError, KeyError, TypeError):
                raise OverrunError("It took down the processes that it ran in.") from None
        finally:
            _end(process)


def _await_ready(process: subprocess.Popen) -> None:
    """Wait until a process is warm.

    Raises:
        NoVerdictError: it did not get warm.
    """
    try:
        ready = _read_line(process, START)
    except OverrunError:
        ready = b""
    if ready != b'{"ready": true}\n':
        process.kill()
        process.stderr.seek(0)
        reason = process.stderr.read().decode(errors="replace").strip()[-2000:]
        raise NoVerdictError(f"The grader's own process did not start: {reason or 'no reason given'}")


def _end(process: subprocess.Popen) -> None:
    """End a sandbox, and wait until every process in it is gone."""
    inside = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.kill()
    process.wait()
    psutil.wait_procs(inside, timeout=MARGIN)
    for stream in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.close()


def _read_line(process: subprocess.Popen, seconds: float) -> bytes:
    """Read a line of a process that may hang, flood or end: no more than the limits."""
    deadline = time.monotonic() + seconds
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    line = b""
    while not line.endswith(b"\n"):
        if not selector.select(max(0, deadline - time.monotonic())):
            raise OverrunError(f"It did not end within {seconds:g} s.")
        piece = os.read(process.stdout.fileno(), 65536)
        line += piece
        if not piece or len(line) > ANSWER:
            break
    return line
