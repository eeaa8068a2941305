"""Start the processes of a TF_CONFIG cluster on this machine, relay their output, and end all of them.

    python -m course cluster worker:2="mnist_multi_worker.py --epochs 3"
    python -m course cluster ps=worker_and_ps.py worker:2=worker_and_ps.py chief="coordinator.py --epochs 3"

TensorFlow has no mpirun: each process learns from its environment variable TF_CONFIG which cluster it belongs to.
"""

import queue
import shlex
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from course import launch, tf_config
from course.internal.failures import Relay, RunError
from course.internal.reaper import Reaped
from course.launch import TIMEOUT
from course.record.records import Record, read_records


@dataclass
class Task:
    """One task of the cluster: its process, and what that printed. A restart of the task adds to its lines."""

    kind: str
    index: int
    command: list[str] = field(default_factory=list)
    lines: list[tuple[float, str]] = field(default_factory=list)  # seconds since 1970, and a line printed then
    exit: int | None = None  # exit status, or 128 plus the signal's number; None while it runs
    ended: float = 0.0  # seconds since 1970
    process: Reaped | None = None  # None until it is started
    reader: threading.Thread | None = None

    @property
    def name(self) -> str:
        """The task's name: worker 0."""
        return f"{self.kind} {self.index}"

    @property
    def running(self) -> bool:
        """Whether its process has been started and has not ended."""
        return self.process is not None and self.exit is None


class Cluster:
    """A cluster on this machine, on free ports. A context manager: all processes end with it."""

    def __init__(self, say: Callable[[str], None] | None = None, **counts: int):
        """Find a free port for every task.

        Args:
            say: takes each line that a process prints, as it is printed. None prints all but the tracebacks that the
                RunError explains.
            counts: the number of tasks of each kind: worker=2, or chief=1, ps=1, worker=2. An evaluator has no
                address in a cluster, so it is not counted here, and start() starts it in any cluster.
        """
        self._relay = Relay()
        self._say = say or self._relay
        self._saying = threading.Lock()  # so that the lines of several processes are not mixed
        self.addresses = tf_config.free_addresses(counts)
        self.tasks = {(kind, index): Task(kind, index) for kind in counts for index in range(counts[kind])}
        # One entry per new line or end of a process. Not a Condition: an interrupt while the main thread acquires that
        # would leave it locked, and the threads that read the output would wait indefinitely.
        self._changes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        """Return the cluster."""
        self.records = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="course-cluster-")))
        return self

    def __exit__(self, *error: object) -> None:
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
        **flags: Any,
    ) -> Task:
        """Start the process of a task, the first time or again.

        Args:
            kind: "worker", "chief", "ps" or "evaluator".
            index: its number among the tasks of its kind.
            script: the program. Tasks that train are recorded: watched() returns their records.
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
        recorder = ["-m", "course.record", str(self.records)] if trains else []
        config = {"TF_CPP_MIN_LOG_LEVEL": "2"}  # a server warns about each connection that a process leaves behind
        config |= {"TF_CONFIG": tf_config.make(self.addresses, kind, index), "COURSE_RECORD_RANK": str(index)}
        config["TF_NUM_INTEROP_THREADS"] = "4"  # a step waits, in one of these, for what other processes send
        self.say(f"$ {task.name}: python {shlex.join(command)}")
        environment = launch.environment(len(self.tasks)) | config | variables
        task.process = Reaped([sys.executable, *recorder, *command], environment)
        task.reader = threading.Thread(target=self._follow, args=[task, task.process], daemon=True)
        task.reader.start()
        return task

    def _follow(self, task: Task, process: Reaped) -> None:
        """Read what a process prints until it has ended."""
        for raw in process.output:
            text = launch.as_terminal(raw.decode(errors="replace").rstrip("\n"))
            if text:
                task.lines.append((time.time(), text))
                self._changes.put(None)
                self.say(f"[{task.name}] {text}")
        code = process.wait()
        task.ended = time.time()
        task.exit = code
        self._changes.put(None)

    def say(self, line: str) -> None:
        """Pass a line to the function that takes them."""
        with self._saying:
            self._say(line)

    def _wait_for(self, holds: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds, checked at each change of a task, and return whether it does in time."""
        deadline = time.monotonic() + timeout
        while not holds():
            try:
                self._changes.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return holds()
        return True

    def kill(self, task: Task) -> None:
        """Kill the process of a task by SIGKILL, which leaves it no time to tidy up, and wait until it has ended.

        Raises:
            RunError: the task was never started.
        """
        if not task.process:
            raise RunError(f"{task.name} cannot be killed: it was never started.")
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(task.process.pid).children(recursive=True):
                process.kill()
        self.await_end(task)

    def end(self, *tasks: Task) -> None:
        """End the processes of these tasks and wait until they have ended."""
        for task in tasks:
            if task.process:
                task.process.end()
        for task in tasks:
            if task.process and task.reader:
                task.reader.join()
                task.process.close()

    def await_line(self, task: Task, holds: Callable[[str], bool], timeout: float = TIMEOUT) -> None:
        """Wait until a task has printed a certain line.

        Args:
            task: the task.
            holds: says whether a line is the one.
            timeout: seconds to wait.

        Raises:
            RunError: the task ended without such a line, or did not print it in time.
        """
        seen, found = 0, False

        def found_or_ended() -> bool:
            nonlocal seen, found
            ended = not task.running  # before the lines are read: the last ones come before the end
            fresh = task.lines[seen:]
            seen += len(fresh)
            found = found or any(holds(text) for _, text in fresh)
            return found or ended

        self._wait_for(found_or_ended, timeout)
        if not found:
            raise RunError(f"{task.name} did not print the expected line.", _printed(task))

    def await_end(self, *tasks: Task, timeout: float = TIMEOUT) -> None:
        """Wait until all of these tasks have ended, or one of them has failed.

        Raises:
            RunError: they did not end in time.
        """
        if not self._wait_for(lambda: _over(tasks), timeout):
            waiting = " and ".join(task.name for task in tasks if task.running)
            raise RunError(f"{waiting} did not end within {timeout:g} s.", _printed(*tasks))

    def wait(self, timeout: float = TIMEOUT) -> None:
        """Wait until all tasks that end by themselves have ended, then end the servers, which never do.

        Raises:
            RunError: a process failed or did not end in time; the message says which one. All have ended then.
        """
        serves = {"ps", "worker"} if "ps" in self.addresses else set()
        working = [task for task in self.tasks.values() if task.process and task.kind not in serves]
        try:
            self.await_end(*working, timeout=timeout)
            failed = [task for task in working if task.exit]
            if failed:
                raise _failure(min(failed, key=lambda task: task.ended))  # others fail later, because of it
            self._relay.release()
        finally:
            self.end(*self.tasks.values())

    def watched(self) -> list[Record]:
        """Return the records of the tasks that called fit(), by index; with parameter servers, that is the chief."""
        return read_records(self.records)


def script(
    path: str | Path,
    workers: int,
    *,
    timeout: float = TIMEOUT,
    say: Callable[[str], None] | None = None,
    variables: dict[str, str] | None = None,
    **flags: Any,
) -> launch.Run:
    """Run a training script as the workers of a cluster and return what they printed and recorded.

    Args:
        path: the script.
        workers: the number of workers.
        timeout: seconds after which the run is ended.
        say: as for a Cluster.
        variables: environment variables for the workers.
        flags: the script's arguments, as launch.script() takes them.

    Raises:
        RunError: a worker failed or was killed, or the run timed out.
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
    """Run a cluster until all of its tasks have ended, except for servers, which are ended then.

    Args:
        commands: kind, count and command line of the tasks.
        timeout: seconds after which the run is ended.

    Raises:
        RunError: as Cluster.wait() does.
    """
    counts: dict[str, int] = {}
    for kind, count, _ in commands:
        if kind != "evaluator":
            counts[kind] = counts.get(kind, 0) + count
    with Cluster(print, **counts) as cluster:
        indices = dict.fromkeys(tf_config.KINDS, 0)
        for kind, count, command in commands:
            for _ in range(count):
                cluster._start(kind, indices[kind], shlex.split(command), {})
                indices[kind] += 1
        cluster.wait(timeout)


def _over(tasks: tuple[Task, ...]) -> bool:
    return any(task.exit for task in tasks) or not any(task.running for task in tasks)


def _failure(task: Task) -> RunError:
    """Return how a task failed."""
    code = task.exit or 0
    if code > 128 and code - 128 in signal.valid_signals():
        how = f"was killed by signal {code - 128} ({signal.Signals(code - 128).name})"
    else:
        how = f"ended with exit status {code}"
    return RunError(f"{task.name} {how}.", _printed(task))


def _printed(*tasks: Task) -> dict[str, list[str]]:
    """Return what these tasks printed, by their names."""
    return {task.name: [text for _, text in task.lines] for task in tasks}
