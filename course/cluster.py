"""Start the processes of a TF_CONFIG cluster on this machine, pass on what they print, and end every one of them.

    python -m course cluster worker:2="mnist_multi_worker.py --epochs 3"
    python -m course cluster ps=worker_and_ps.py worker:2=worker_and_ps.py chief="coordinator.py --epochs 3"

TensorFlow has no mpirun: whoever starts its processes tells each of them, in a variable, where all of them are.
"""

import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from course import launch, tf_config, watch
from course.launch import LAST_LINES, TIMEOUT, RunError


@dataclass
class Task:
    """One task of the cluster, and what the process that does it has done. A second start of it goes on here."""

    kind: str
    index: int
    command: list[str] = field(default_factory=list)
    lines: list[tuple[float, str]] = field(default_factory=list)  # seconds since 1970, and what was printed then
    exit: int | None = None  # status, or 128 and the signal's number; None while it runs
    ended: float = 0.0  # seconds since 1970
    guard: subprocess.Popen | None = None
    reader: threading.Thread | None = None

    @property
    def name(self) -> str:
        """The task as people call it: worker 0."""
        return f"{self.kind} {self.index}"

    @property
    def running(self) -> bool:
        """Whether its process has been started and has not ended."""
        return self.guard is not None and self.exit is None


class Cluster:
    """A cluster on this machine, on ports that are free. A context manager: all processes end with it."""

    def __init__(self, say: Callable[[str], None] = print, **counts: int):
        """Find a port for every task.

        Args:
            say: takes each line that a process prints, as it comes.
            counts: how many tasks there are of each kind: worker=2, or chief=1, ps=1, worker=2. An evaluator needs
                no address, and is in no cluster; it can be started in any.
        """
        self.say = say
        self.addresses = tf_config.free_addresses(counts)
        self.tasks = {(kind, index): Task(kind, index) for kind in counts for index in range(counts[kind])}
        self.changed = threading.Condition()
        self.stack = ExitStack()

    def __enter__(self):
        """Return the cluster."""
        self.records = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="course-cluster-")))
        return self

    def __exit__(self, *error):
        """End every process."""
        self.end(*self.tasks.values())
        self.stack.close()

    def start(
        self,
        kind: str,
        index: int,
        script: str | Path,
        *,
        variables: dict[str, str] | None = None,
        **flags: object,
    ) -> Task:
        """Start the process of a task, the first time or again.

        Args:
            kind: "worker", "chief", "ps" or "evaluator".
            index: which of them.
            script: the program. If this is a task that calls fit(), it is watched, and watched() tells what was seen.
            variables: environment variables for it.
            flags: the script's arguments, as launch.script() takes them.

        Raises:
            RunError: there is no such script, or the task is running.
        """
        return self._start(kind, index, [str(script), *launch.command_line(flags)], variables or {})

    def _start(self, kind: str, index: int, command: list[str], variables: dict[str, str]) -> Task:
        if not Path(command[0]).is_file():
            raise RunError(f"There is no file {command[0]} here.")
        task = self.tasks.setdefault((kind, index), Task(kind, index))
        if task.running:
            raise RunError(f"{task.name} is running already.")
        task.command, task.exit = command, None
        trains = kind == "chief" or "ps" not in self.addresses
        watched = ["-m", "course.watch", str(self.records)] if trains else []
        config = {"TF_CPP_MIN_LOG_LEVEL": "2"}  # a server warns of each connection that a process leaves behind
        config |= {"TF_CONFIG": tf_config.make(self.addresses, kind, index), "COURSE_WATCH_RANK": str(index)}
        config["TF_NUM_INTEROP_THREADS"] = "4"  # a step waits, in one of these, for what other processes have to send
        self.say(f"$ {task.name}: python {shlex.join(command)}")
        task.guard = subprocess.Popen(
            [sys.executable, "-m", "course.guard", sys.executable, *watched, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=launch.environment(len(self.tasks)) | config | variables,
            start_new_session=True,
        )
        task.reader = threading.Thread(target=self._follow, args=[task], daemon=True)
        task.reader.start()
        return task

    def _follow(self, task: Task) -> None:
        """Read what a process prints until it has ended."""
        for raw in task.guard.stdout:
            text = launch.as_terminal(raw.decode(errors="replace").rstrip("\n"))
            if text:
                with self.changed:
                    task.lines.append((time.time(), text))
                    self.changed.notify_all()
                self.say(f"[{task.name}] {text}")
        code = task.guard.wait()
        with self.changed:
            task.exit, task.ended = code, time.time()
            self.changed.notify_all()

    def kill(self, task: Task) -> None:
        """Kill the process of a task by SIGKILL, which leaves it no time to tidy up, and wait until it is gone."""
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(task.guard.pid).children(recursive=True):
                process.kill()
        self.await_end(task)

    def end(self, *tasks: Task) -> None:
        """End the processes of these tasks, whatever they do, and wait until they are gone."""
        for task in tasks:
            if task.guard:
                task.guard.stdin.close()
        for task in tasks:
            if task.guard:
                task.guard.wait()
                task.reader.join()
                task.guard.stdout.close()

    def await_line(self, task: Task, holds: Callable[[str], bool], timeout: float = TIMEOUT) -> None:
        """Wait until a task has printed a line that holds what it should.

        Raises:
            RunError: it ended without, or time ran out.
        """
        seen = 0

        def printed() -> bool:
            nonlocal seen
            fresh, seen = task.lines[seen:], len(task.lines)
            return any(holds(text) for _, text in fresh)

        with self.changed:
            met = []
            self.changed.wait_for(lambda: met.append(printed()) or met[-1] or not task.running, timeout)
        if not any(met):
            raise RunError(f"{task.name} did not print what was waited for. {_last_words(task)}")

    def await_end(self, *tasks: Task, timeout: float = TIMEOUT) -> None:
        """Wait until all of these tasks have ended, or one of them has failed.

        Raises:
            RunError: time ran out.
        """
        with self.changed:
            over = self.changed.wait_for(lambda: _over(tasks), timeout)
        if not over:
            waiting = " and ".join(task.name for task in tasks if task.running)
            raise RunError(f"{waiting} did not end within {timeout:g} s. {_last_words(*tasks)}")

    def wait(self, timeout: float = TIMEOUT) -> None:
        """Wait until everything is done that ends by itself, and end the servers, which never do.

        Raises:
            RunError: a process failed, or time ran out; the message says which one and how. All have ended then.
        """
        serves = {"ps", "worker"} if "ps" in self.addresses else set()
        working = [task for task in self.tasks.values() if task.guard and task.kind not in serves]
        try:
            self.await_end(*working, timeout=timeout)
            failed = [task for task in working if task.exit]
            if failed:
                raise RunError(_reason(min(failed, key=lambda task: task.ended)))  # the others fail of it, and later
        finally:
            self.end(*self.tasks.values())

    def watched(self) -> list[watch.Record]:
        """Return what was seen in the processes that called fit(), by index: with parameter servers, in the chief."""
        return watch.read(self.records)


def script(
    path: str | Path,
    workers: int,
    *,
    timeout: float = TIMEOUT,
    say: Callable[[str], None] = print,
    variables: dict[str, str] | None = None,
    **flags: object,
) -> launch.Run:
    """Run a training script as the workers of a cluster and return what they printed and did.

    Args:
        path: the script.
        workers: how many.
        timeout: seconds after which the run is ended.
        say: takes each line as it comes.
        variables: environment variables for the workers.
        flags: the script's arguments, as launch.script() takes them.

    Raises:
        RunError: a worker failed or was killed, or time ran out.
    """
    run = launch.Run(f'worker:{workers}="{shlex.join([Path(path).name, *launch.command_line(flags)])}"', workers)
    run.began = time.time()
    with Cluster(say, worker=workers) as cluster:
        tasks = [cluster.start("worker", index, path, variables=variables, **flags) for index in range(workers)]
        cluster.wait(timeout)
        run.records = cluster.watched()
    run.seconds = time.time() - run.began
    run.output = {task.index: [text for _, text in task.lines] for task in tasks}
    return run


def run_commands(commands: list[tuple[str, int, str]], timeout: float = TIMEOUT) -> None:
    """Run a cluster of (kind, how many, command) until its work is done.

    Raises:
        RunError: as Cluster.wait() does.
    """
    counts = {}
    for kind, count, _ in commands:
        if kind != "evaluator":
            counts[kind] = counts.get(kind, 0) + count
    with Cluster(**counts) as cluster:
        indices = dict.fromkeys(tf_config.KINDS, 0)
        for kind, count, command in commands:
            for _ in range(count):
                cluster._start(kind, indices[kind], shlex.split(command), {})
                indices[kind] += 1
        cluster.wait(timeout)


def _over(tasks: tuple[Task, ...]) -> bool:
    return any(task.exit for task in tasks) or not any(task.running for task in tasks)


def _reason(task: Task) -> str:
    """Say how a task failed."""
    if task.exit > 128 and task.exit - 128 in signal.valid_signals():
        how = f"was killed by signal {task.exit - 128} ({signal.Signals(task.exit - 128).name})"
    else:
        how = f"ended with exit status {task.exit}"
    return f"{task.name} {how}. {_last_words(task)}"


def _last_words(*tasks: Task) -> str:
    lines = [f"[{task.name}] {text}" for task in tasks for _, text in task.lines[-LAST_LINES:]]
    return "\n".join(["The last lines:", *lines]) if lines else "Nothing had been printed."
