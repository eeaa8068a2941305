"""Run a script on hosts, in a sandbox in which hosts can be made, and return what a watcher saw there.

The sandbox is that of grader.runner.sandbox but for two things: user namespaces are permitted, which hosts consist of,
and there is no network at all but what the watcher makes. A watcher is a process of its own in it: see grader.watchers.
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil

from course.steps import ROOT
from grader.budget import Budget
from grader.facts import Answer, Result
from grader.job import Topology, Watch
from grader.runner import sandbox

# Of the project's own code: what makes hosts, and what watches them.
READABLE = (
    *("course", "grader/__init__.py", "grader/budget.py", "grader/facts.py", "grader/job.py", "grader/limits.py"),
    *("grader/seen.py", "grader/watchers"),
    *("solutions/hosts/discover.sh", "solutions/hosts/launch_elastic.sh"),  # which learners are given
)
SYSTEM = "/usr/sbin", "/sbin"  # programs that hosts need besides
ALTERNATIVES = "/etc/alternatives"  # symbolic links on the way to programs such as awk
MEMORY = 4 * 2**30  # bytes that all processes of a sandbox may take together
LARGEST = 2**20  # bytes of what a watcher may say
LONGER = 1.5  # times the seconds of other scripts: hosts have to start, and a scheduler to notice that one is lost
JOB = "job.json"
PULSE = 0.5  # seconds between looks at time and memory


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

    def watched(topology: Topology) -> tuple[str, list[Result]]:
        assert topology.watcher
        with tempfile.TemporaryDirectory(prefix="grader-watched-") as folder:
            job = Watch(topology.watcher, topology.name, name, script)
            Path(folder, JOB).write_bytes(msgspec.json.encode(job))
            command = [f"{sys.prefix}/bin/python", "-m", "grader.watchers", f"{folder}/{JOB}"]
            result = _watched(
                [*_sandbox(Path(folder), data_folder), *command] if sandboxed else command, LONGER * seconds
            )
        return topology.name, [result]

    with ThreadPoolExecutor(len(topologies)) as threads:
        results = dict(threads.map(watched, topologies))
    return msgspec.json.encode(Answer(results, 0))


def _watched(command: list[str], seconds: float) -> Result:
    """Run a watcher, and return what it saw.

    Raises:
        LateError, WatchError: as run() does.
    """
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        watcher = subprocess.Popen(
            [sys.executable, "-m", "course.internal.reaper", *command],
            cwd=ROOT,
            env=sandbox.environment(),
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=complained,
        )
        assert watcher.stdin
        try:
            _await(watcher, seconds)
        finally:
            watcher.stdin.close()  # ends all that is left of it
            watcher.wait()
        said.seek(0)
        answer = said.read(LARGEST)
        if watcher.returncode or not answer:
            complained.seek(0)
            why = complained.read(LARGEST).decode(errors="replace").strip()[-2000:]
            raise WatchError(f"The process that watches the hosts has ended: {why or watcher.returncode}")
        return msgspec.json.decode(answer, type=Result)


def _await(watcher: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Wait until a watcher has ended.

    Raises:
        LateError: its processes have had their time, or take too much memory.
        WatchError: other programs have kept them from the cores.
    """
    budget = Budget()
    while True:
        with suppress(subprocess.TimeoutExpired):
            watcher.wait(PULSE)
            return
        processes = psutil.Process(watcher.pid).children(recursive=True)
        budget.look(process.pid for process in processes)
        if budget.had > seconds and budget.starved:
            raise WatchError("The machine is too busy with other programs to run hosts on it: judge it again.")
        if budget.had > seconds:
            raise LateError(f"It did not end within {seconds:g} s.")
        if sum(map(_memory, processes)) > MEMORY:
            raise LateError("Its processes together took too much memory.")


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has just ended
        return 0


def _sandbox(folder: Path, data_folder: Path) -> list[str]:
    """Return the command line, up to the program inside, of a sandbox in which this folder can be read.

    As root, one bubblewrap shows the files, which another user may have no way to, and a second one, started by that
    user, makes the namespaces: hosts are then that user's.
    """
    user = sandbox.FIRST_USER + threading.get_native_id() if os.geteuid() == 0 else os.geteuid()
    etc = _etc(folder / "etc", user)
    folder.chmod(0o755)
    readable = [*sandbox.system(), *SYSTEM, *(str(ROOT / path) for path in READABLE)]
    files = ["--die-with-parent", *sandbox.shown(data_folder, readable), "--ro-bind", str(etc), "/etc"]
    files += ["--ro-bind-try", ALTERNATIVES, ALTERNATIVES, "--ro-bind", "/sys", "/sys"]
    files += ["--ro-bind", str(folder), str(folder)]
    spaces = [
        *(f"--unshare-{kind}" for kind in ("user", "pid", "ipc", "uts", "net", "cgroup-try")),
        "--die-with-parent",
    ]
    spaces += ["--proc", "/proc", "--new-session", "--chdir", "/tmp"]
    closed = ["--remount-ro", "/dev", "--remount-ro", "/"]
    if os.geteuid():
        return [sandbox.bwrap(), *files, *spaces, *closed, "--"]
    become = [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--no-new-privs",
        "--bounding-set=-all",
    ]
    outer = [sandbox.bwrap(), *files, "--bind", "/proc", "/proc", *closed, "--"]
    return [*outer, *become, sandbox.bwrap(), "--dev-bind", "/", "/", *spaces, "--"]


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
