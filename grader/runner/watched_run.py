"""Run a script on hosts, in a sandbox in which hosts can be made, and return what a watcher saw there.

The sandbox is like that of grader.sandbox.policy, with these differences: user namespaces are permitted, which hosts
consist of; there is no network but what the watcher makes; more of the system and of the project can be read; and
memory is limited to MEMORY. A watcher is a process of its own in it: see grader.watchers.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec
import psutil

from course.steps import ROOT
from grader.sandbox.time_budget import Budget
from grader.terms.facts import Answer, Result
from grader.terms.job import Topology, Watch
from grader.sandbox import policy
from grader.watchers.clock import STARVED

# Of the project's own code: what makes hosts, and what watches them.
READABLE = (
    *("course", "grader/__init__.py", "grader/terms/facts.py", "grader/terms/job.py", "grader/sandbox/limits.py"),
    *("grader/terms/watched_facts.py", "grader/sandbox/syscalls.py", "grader/watchers"),
    *("solutions/hosts/discover.sh", "solutions/hosts/launch_elastic.sh"),  # which learners are given
)
PIDS = 2**22  # numbers that processes and threads may have, at most
SYSTEM = "/usr/sbin", "/sbin"  # programs that hosts need besides
ALTERNATIVES = "/etc/alternatives"  # symbolic links on the way to programs such as awk
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
    script: str, name: str, topologies: Sequence[Topology], seconds: float, data_folder: Path, sandboxed: bool
) -> bytes:
    """Run a script on all topologies side by side, each in a sandbox of its own, and return an Answer as JSON.

    Args:
        script: its text.
        name: of its file.
        topologies: each with a watcher.
        seconds: that other scripts may take; this one may take LONGER, as far as other processes leave the cores to it.
        data_folder: what stands in the place of the course's own data.
        sandboxed: False runs it without protection: for one's own scripts only.

    Raises:
        LateError: it outlasted its time, or its memory.
        WatchError: a watcher did not get to its end.
    """
    with contextlib.ExitStack() as stack:
        watchers = [
            stack.enter_context(_Watcher(topology, number, script, name, data_folder, sandboxed))
            for number, topology in enumerate(topologies)
        ]
        _await(watchers, LONGER * seconds)
        results = {watcher.topology.name: [watcher.result()] for watcher in watchers}
    return msgspec.json.encode(Answer(results, 0))


class _Watcher:
    """A watcher that runs, in a sandbox of its own. A context manager: all that is left of it ends with it."""

    def __init__(self, topology: Topology, number: int, script: str, name: str, data_folder: Path, sandboxed: bool):
        assert topology.watcher
        self.topology, self.number, self.data_folder, self.sandboxed = topology, number, data_folder, sandboxed
        self.job, self.script = Watch(topology.watcher, topology.name, name), script

    def __enter__(self) -> Self:
        """Start it."""
        with contextlib.ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="grader-watched-")))
            self.said, self.complained = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            (self.folder / JOB).write_bytes(msgspec.json.encode(self.job))
            (self.folder / self.job.name).write_text(self.script)
            (self.folder / self.job.name).chmod(0o755)
            self.tell(Budget())
            inside = _sandbox(self.folder, self.number, self.data_folder) if self.sandboxed else []
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
            return msgspec.json.decode(answer, type=Result)
        except msgspec.DecodeError as error:
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


def _sandbox(folder: Path, number: int, data_folder: Path) -> list[str]:
    """Return the command line, up to the program inside, of a sandbox in which this folder can be read.

    As root, one bubblewrap shows the files, which another user may have no way to, and a second one, started by that
    user, makes the namespaces: hosts are then that user's.
    """
    own = policy.FIRST_USER + threading.get_native_id() + number * PIDS
    user = own if os.geteuid() == 0 else os.geteuid()
    etc = _etc(folder / "etc", user)
    folder.chmod(0o755)
    readable = [*policy.system(), *SYSTEM, *(str(ROOT / path) for path in READABLE)]
    files = ["--die-with-parent", *policy.shown(data_folder, readable), "--ro-bind", str(etc), "/etc"]
    files += ["--ro-bind-try", ALTERNATIVES, ALTERNATIVES, "--ro-bind", "/sys", "/sys"]
    files += ["--ro-bind", str(folder), str(folder)]
    spaces = [
        *(f"--unshare-{kind}" for kind in ("user", "pid", "ipc", "uts", "net", "cgroup-try")),
        "--die-with-parent",
    ]
    spaces += ["--proc", "/proc", "--new-session", "--chdir", "/tmp"]
    closed = ["--remount-ro", "/dev", "--remount-ro", "/"]
    if os.geteuid():
        return [policy.bwrap(), *files, *spaces, *closed, "--"]
    become = [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--no-new-privs",
        "--bounding-set=-all",
    ]
    outer = [policy.bwrap(), *files, "--bind", "/proc", "/proc", *closed, "--"]
    return [*outer, *become, policy.bwrap(), "--dev-bind", "/", "/", *spaces, "--"]


def _etc(folder: Path, user: int) -> Path:
    """Make a folder that stands in the place of /etc: the sandbox knows one user, and no name of another machine."""
    Path(folder, Path(ALTERNATIVES).name).mkdir(parents=True)
    files = {
        "passwd": f"learner:x:{user}:{user}::/tmp:/bin/bash\n",
        "group": f"learner:x:{user}:\n",
        "hosts": "127.0.0.1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder
