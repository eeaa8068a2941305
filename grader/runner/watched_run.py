"""Run a script on hosts, in a sandbox in which hosts can be made, and return what a watcher saw there.

A watcher is a process of its own in that sandbox: see grader.watchers. All processes of a sandbox together may take
MEMORY.
"""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec
import psutil

from course.steps import ROOT
from grader.sandbox import hosts_policy, policy
from grader.sandbox.time_budget import Budget
from grader.terms.clusters import Watched
from grader.terms.job import Answer, Result, WatchJob
from grader.watchers.clock import STARVED

MEMORY = 4 * 2**30  # bytes that all processes of a sandbox may take together
LARGEST = 2**20  # bytes of what a watcher may say
LONGER = 2.5  # times the seconds of other scripts: hosts have to start, and a scheduler to notice that one is lost
REAPER = sys.executable, "-m", "course.internal.reaper"
JOB, CLOCK = "job.json", "clock"
PULSE = 0.25  # seconds between looks at time and memory
SLOWEST = 0.25  # of all time, what counts at least


class WatchError(Exception):
    """A watcher could not do its work; the message says why. Never the script's fault."""


class LateError(Exception):
    """The script kept its watcher longer than it may, or took too much memory; the message says which."""


def run(
    script: str, name: str, clusters: Sequence[Watched], seconds: float, data_folder: Path, sandboxed: bool
) -> Answer:
    """Run a script on all clusters side by side, each in a sandbox of its own, and return what was seen.

    Args:
        script: its text.
        name: of its file.
        clusters: each with a watcher.
        seconds: that other scripts may take; this one may take LONGER, as far as other processes leave the cores to it.
        data_folder: what stands in the place of the course's own data.
        sandboxed: False runs it without protection: for one's own scripts only.

    Raises:
        LateError: it outlasted its time, or its memory.
        WatchError: a watcher did not get to its end.
    """
    with contextlib.ExitStack() as stack:
        watchers = [
            stack.enter_context(_Watcher(cluster, number, script, name, data_folder, sandboxed))
            for number, cluster in enumerate(clusters)
        ]
        _await(watchers, LONGER * seconds)
        results = {watcher.cluster.name: [watcher.result()] for watcher in watchers}
    return Answer(results, 0)


class _Watcher:
    """A watcher that runs, in a sandbox of its own. A context manager: all that is left of it ends with it."""

    def __init__(self, cluster: Watched, number: int, script: str, name: str, data_folder: Path, sandboxed: bool):
        self.cluster, self.number, self.data_folder, self.sandboxed = cluster, number, data_folder, sandboxed
        self.job, self.script = WatchJob(cluster.watcher, cluster.name, name), script

    def __enter__(self) -> Self:
        """Start it."""
        with contextlib.ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="grader-watched-")))
            self.said, self.complained = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            (self.folder / JOB).write_bytes(msgspec.json.encode(self.job))
            (self.folder / self.job.name).write_text(self.script)
            (self.folder / self.job.name).chmod(0o755)
            self.tell(Budget())
            inside = hosts_policy.command(self.folder, self.number, self.data_folder) if self.sandboxed else []
            files = f"{self.folder}/{JOB}", f"{self.folder}/{CLOCK}"
            self.process = subprocess.Popen(
                [*REAPER, *inside, f"{sys.prefix}/bin/python", "-m", "grader.watchers", *files],
                cwd=ROOT,
                env=policy.environment(),
                stdin=subprocess.PIPE,
                stdout=self.said,
                stderr=self.complained,
            )
            stack.callback(self._end)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """End all that is left of it."""
        self.stack.close()

    def _end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()

    def tell(self, budget: Budget) -> None:
        """Tell it the time: see grader.watchers.clock."""
        new = self.folder / f"{CLOCK}.new"
        new.write_text(f"{budget.had} {budget.lost}")
        new.rename(self.folder / CLOCK)

    def processes(self) -> list[psutil.Process]:
        """Return the processes of its policy."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:  # it has just ended
            return []

    def result(self) -> Result:
        """Return what it saw, when it has ended.

        Raises:
            WatchError: it did not get to its end.
        """
        self.said.seek(0)
        answer = self.said.read(LARGEST)
        if self.process.returncode or not answer:
            self.complained.seek(0)
            why = self.complained.read(LARGEST).decode(errors="replace").strip()[-2000:]
            raise WatchError(why or f"The process that watches the hosts has ended with {self.process.returncode}.")
        try:
            return msgspec.msgpack.decode(answer, type=Result)
        except msgspec.MsgspecError as error:
            raise WatchError(f"What was seen on the hosts cannot be read: {error}") from None


def _await(watchers: Sequence[_Watcher], seconds: float) -> None:
    """Wait until all watchers have ended, and tell them the time, which is counted for all of their processes together.

    Raises:
        LateError: they have had their time, or those of one take too much memory.
        WatchError: other programs have kept them from the cores.
    """
    budget = Budget(slowest=SLOWEST)
    while running := [watcher for watcher in watchers if watcher.process.poll() is None]:
        processes = [watcher.processes() for watcher in running]
        budget.look(process.pid for those in processes for process in those)
        if budget.had > seconds and budget.lost > STARVED * budget.had:
            raise WatchError("The machine is too busy with other programs to run hosts on it: judge it again.")
        if budget.had > seconds:
            raise LateError(f"It did not end within {seconds:g} s.")
        if any(sum(map(_memory, those)) > MEMORY for those in processes):
            raise LateError("Its processes together took too much memory.")
        for watcher in running:
            watcher.tell(budget)
        with contextlib.suppress(subprocess.TimeoutExpired):
            running[0].process.wait(PULSE)


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has just ended
        return 0
