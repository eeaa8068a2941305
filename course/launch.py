"""Start ranks under mpirun, relay their output, and end all of their processes, however the run ends."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.internal import proxies, stalls
from course.internal.failures import Relay
from course.internal.failures import RunError as RunError
from course.internal.following import follow
from course.internal.reaper import Reaped
from course.internal.simulated_hosts import rendezvous
from course.record.records import Record, read_records
from course.steps import ROOT

# Flags of the programs: a model that trains in seconds on two cores, or the full one.
PROFILES: dict[str, dict[str, Any]] = {
    "cpu": {"depth": 10, "widen_factor": 1, "batch_size": 16, "val_batch_size": 100, "base_lr": 0.05},
    "gpu": {},
}

# The same for the programs of the second part, on the ten classes of Fashion-MNIST's images.
IMAGE_PROFILES: dict[str, dict[str, Any]] = {
    "cpu": {"classes": 10, "model": "small", "image_size": 32, "batch_size": 16, "val_batch_size": 16},
    "gpu": {"classes": 10, "image_size": 64},
}

TIMEOUT = 600  # seconds a run may take, unless its caller says otherwise
LOG_LEVEL = "2"  # TensorFlow's errors alone: where a rank fails, each other rank warns once for every tensor

_TAGGED = re.compile(r"\[(\d+)\]<(stdout|stderr)>: ?(.*)")
_BAR = re.compile(r" \[[=>.]{30}\](?= - |$)")
_SIGNALLED = re.compile(r"process\s+rank\s+(\d+)\s+with\s+PID\s+\d+\s+on\s+node\s+\S+\s+exited\s+on\s+signal\s+(\d+)")
_EXITED = re.compile(r"Process name: \[.*?(\d+)\]\s+Exit code:\s+(\d+)")
_SHUT_DOWN = "Horovod has been shut down"


@dataclass
class Run:
    """One run of ranks: its command, as a person would type it, and its results."""

    command: str
    np: int
    began: float = 0.0  # seconds since 1970
    seconds: float = 0.0
    output: dict[int, list[str]] = field(default_factory=dict)  # rank -> its lines, as a terminal would show them
    notices: list[str] = field(default_factory=list)  # lines of mpirun itself
    records: list[Record] = field(default_factory=list)  # by rank; empty for runs of mpirun()


class InterruptedRun(KeyboardInterrupt):
    """The learner interrupted a run; all its ranks have been ended."""

    def _render_traceback_(self) -> list[str]:
        """Show one line in a notebook."""
        return ["Interrupted: all ranks have been ended."]


def gpu_count() -> int:
    """Return how many NVIDIA GPUs this machine has, without starting TensorFlow."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return len(listed.stdout.splitlines())


def settings(np: int) -> dict[str, tuple[str, str]]:
    """Return the environment variables that the course sets for np ranks, each as (value, reason)."""
    threads = str(max(1, len(os.sched_getaffinity(0)) // np))
    all_cores = "all ranks' threads together fill the cores, without competing for them"
    wanted = {
        "OMPI_MCA_mpi_yield_when_idle": (
            "1",
            "ranks that wait inside MPI leave their core to a rank that has work to do",
        ),
        "PRTE_MCA_rmaps_default_mapping_policy": ("slot:oversubscribe", "there may be more ranks than cores"),
        "PRTE_MCA_hwloc_default_binding_policy": ("none", "a rank's threads may use any core, not only one"),
        "OMP_NUM_THREADS": (threads, all_cores),
        "TF_NUM_INTRAOP_THREADS": (threads, all_cores),
        "TF_NUM_INTEROP_THREADS": (threads, all_cores),
        "HOROVOD_STALL_CHECK_TIME_SECONDS": (
            "10",
            "Horovod reports a collective that some ranks never join; default: 60",
        ),
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": ("30", "Horovod ends a run that waits for so long; default: never"),
        "TF_CPP_MIN_LOG_LEVEL": (LOG_LEVEL, "TensorFlow logs errors only"),
        "PYTHONUNBUFFERED": ("1", "lines appear when they are printed"),
    }
    if os.geteuid() == 0:
        for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
            reason = "mpirun refuses to run as root, as in many containers, unless both variables allow it"
            wanted |= {variable: ("1", reason), f"{variable}_CONFIRM": ("1", reason)}
    return wanted


def environment(np: int) -> dict[str, str]:
    """Return the environment variables for np ranks on this machine. Those that the user has set take precedence.

    With them, a plain `mpirun -np N python script.py` works as root, with more ranks than cores, and in a container.
    """
    wanted = {name: value for name, (value, _) in settings(np).items()}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    # A user's keras.json may want images as (channels, height, width), which no kernel for CPUs takes.
    ours = {"PATH": path, "KERAS_HOME": str(ROOT / "course" / "internal" / "keras")}
    return wanted | os.environ | ours | proxies.for_this_machine()


def script(
    path: str | Path,
    np: int,
    *,
    weights: bool = False,
    one_core_each: bool = False,
    hosts: int = 1,
    gpus: int | None = None,
    timeout: float = TIMEOUT,
    say: Callable[[str], None] | None = None,
    variables: dict[str, str] | None = None,
    **flags: Any,
) -> Run:
    """Run a training script on np ranks and return what they printed and recorded.

    Args:
        path: the script.
        np: the number of ranks.
        weights: record the trainable weights after every batch.
        one_core_each: confine every rank to a core of its own.
        hosts: the number of hosts to simulate, with np // hosts ranks each. With more than one, the ranks of host K
            work in a folder host-K below this one, the host's own disk; the script and absolute paths are the same for
            all. Horovod then runs on Gloo, which does not report missing ranks: a deadlock ends by the timeout.
        gpus: simulate so many GPUs on each host, in TensorFlow's configuration only: ranks choose among them, and
            compute on the CPU. None leaves the machine as it is.
        timeout: seconds after which the run is ended.
        say: takes each line as it is printed. None prints all but the tracebacks that the RunError explains.
        variables: environment variables for the ranks.
        flags: the script's arguments; train_samples=512 becomes --train-samples 512, None leaves a flag out.
            "{rank}" in a value stands for the rank's number.

    Raises:
        RunError: a rank failed or was killed, the ranks deadlocked, or the run timed out.
    """
    if not Path(path).is_file():
        raise RunError(
            f"There is no file {path} here. Each step's notebook puts its own in place; run its cells in order."
        )
    if np % hosts:
        raise RunError(f"{np} ranks do not fill {hosts} hosts evenly. Take a multiple of {hosts} ranks.")
    arguments = command_line(flags)
    layout = ["--host", ",".join(f"host-{host}:{np // hosts}" for host in range(hosts))] if hosts > 1 else []
    shown = ["mpirun", "-np", str(np), *layout, *_as_typed(["python", _here(path), *arguments])]
    settings = {"COURSE_RECORD_WEIGHTS": "1"} if weights else {}
    settings |= {"COURSE_RECORD_ONE_CORE": "1"} if one_core_each else {}
    settings |= {"COURSE_RECORD_GPUS": str(gpus)} if gpus else {}
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="course-run-"))
        if hosts > 1:
            port = stack.enter_context(rendezvous(hosts, np // hosts))
            settings |= {"COURSE_RECORD_HOSTS": str(hosts), "COURSE_RECORD_RENDEZVOUS": str(port)}
        command = [sys.executable, "-m", "course.record", directory, str(path), *arguments]
        settings = (variables or {}) | settings
        run = mpirun(command, np, timeout=timeout, say=say, variables=settings, shown=shlex.join(shown))
        run.records = read_records(Path(directory))
    return run


def _as_typed(command: list[str]) -> list[str]:
    """Return a command for each rank as it can be typed behind mpirun: a shell replaces {rank}."""
    if not any("{rank}" in word for word in command):
        return command
    words = [
        word.replace("{rank}", "${OMPI_COMM_WORLD_RANK}") if "{rank}" in word else shlex.quote(word) for word in command
    ]
    return ["sh", "-c", " ".join(words)]


def _here(path: str | Path) -> str:
    """Return a program's path from this folder, if that is one of the course's."""
    inside = Path.cwd().is_relative_to(ROOT)
    return os.path.relpath(path) if inside else str(path).removeprefix(f"{ROOT}/")


def from_here(text: str) -> str:
    """Return a text with the paths of the course's own files as seen from this folder, if it is one of the course's.

    Args:
        text: has absolute paths in it.
    """
    inside = Path.cwd().is_relative_to(ROOT)
    return text.replace(f"{ROOT}/", f"{os.path.relpath(ROOT)}/" if inside else "")


def command_line(flags: dict[str, Any]) -> list[str]:
    """Return a script's arguments: {"epochs": 3} becomes ["--epochs", "3"], and None leaves a flag out."""
    return [
        part
        for name, value in flags.items()
        if value is not None
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]


def mpirun(
    command: list[str],
    np: int,
    *,
    timeout: float = TIMEOUT,
    say: Callable[[str], None] | None = None,
    variables: dict[str, str] | None = None,
    shown: str | None = None,
) -> Run:
    """Run any command on np ranks and return what they printed.

    Args:
        command: the program and its arguments.
        np, timeout, say, variables: as for script().
        shown: the command line to print and to keep in the Run; the real one if None.

    Raises:
        RunError: as script() does.
    """
    run = Run(shown or shlex.join(["mpirun", "-np", str(np), *command]), np)
    relay = Relay()
    say = say or relay
    say(f"$ {run.command}")
    run.began = time.time()
    ranks = Reaped(["mpirun", "--output", "rank", "-np", str(np), *command], environment(np) | (variables or {}))
    what = f"{np} rank{'s are' if np > 1 else ' is'} running"
    try:
        code = follow(ranks, what, timeout, lambda line: _take(line.rstrip("\n"), run, say))
    except KeyboardInterrupt:
        raise InterruptedRun from None
    run.seconds = time.time() - run.began
    if code is None:
        raise RunError(f"The run timed out after {timeout:g} s. {_deadlock(run)}", _printed(run, range(np)))
    if code:
        raise _failure(run, code)
    relay.release()
    return run


def _take(line: str, run: Run, say: Callable[[str], None]) -> None:
    """Add a line of mpirun's output to its rank, or to the notices, and relay it."""
    tagged = _TAGGED.match(line)
    if not tagged:
        if line.strip("- "):
            run.notices.append(line)
        return
    rank, text = int(tagged[1]), as_terminal(tagged[3])
    if text:
        run.output.setdefault(rank, []).append(text)
        say(f"[{rank}] {text}")


def as_terminal(text: str) -> str:
    """Return a line as a terminal shows it: what follows the last carriage return, as progress bars use it.

    Keras' bar itself is left out: numbers before and after it say the same, and the line fits into a notebook.
    """
    shown = text.replace("\b", "").replace("\0", "").rstrip("\r").rpartition("\r")[2].rstrip()
    return _BAR.sub("", shown)


def _failure(run: Run, code: int) -> RunError:
    """Return which rank failed and how, from the reports of mpirun and Horovod."""
    notices = "\n".join(run.notices)
    if deadlock := _deadlock(run):
        return RunError(deadlock, _printed(run, range(run.np)))
    if (exited := _EXITED.search(notices)) and _shut_down(run, rank := int(exited[1])):
        return RunError(f"{_waited_for_ended(run, rank)} {stalls.EXPECTED}", _printed(run, [rank]))
    if signalled := _SIGNALLED.search(notices):
        rank, number = int(signalled[1]), int(signalled[2])
        name = signal.Signals(number).name
        cure = " Often the system is short of memory: try fewer ranks." if number == signal.SIGKILL else ""
        return RunError(f"Rank {rank} was killed by signal {number} ({name}).{cure}", _printed(run, [rank]))
    if exited := _EXITED.search(notices):
        rank, status = int(exited[1]), exited[2]
        return RunError(f"Rank {rank} ended with exit status {status}.", _printed(run, [rank]))
    if code - 128 in signal.valid_signals():
        name = signal.Signals(code - 128).name
        return RunError(f"mpirun itself was killed by signal {code - 128} ({name}), and its ranks ended with it.")
    printed = _printed(run, sorted(run.output)) | {"mpirun": run.notices}
    return RunError(f"mpirun ended with exit status {code}.", printed)


def _deadlock(run: Run) -> str:
    """Return which ranks wait where, if Horovod reported that ranks were missing in a collective; "" otherwise."""
    waits = stalls.reported(run.output, run.np)
    return f"Deadlock: {stalls.explain(waits)}. {stalls.advice(waits)} " if waits else ""


def _shut_down(run: Run, rank: int) -> bool:
    """Return whether a rank failed in a collective since another rank had ended."""
    return any(_SHUT_DOWN in line for line in run.output.get(rank, ()))


def _waited_for_ended(run: Run, rank: int) -> str:
    """Say which collective a rank waited in, as far as its last error shows that, and which ranks had ended."""
    lines = run.output[rank]
    known = [words for line in lines if (words := stalls.in_words(line)) != line]
    ended = [str(other) for other in range(run.np) if not _shut_down(run, other)]
    others = f"rank {ended[0]}, which" if len(ended) == 1 else "a rank that"
    return f"Rank {rank} waited in {known[-1] if known else 'a collective'} for {others} had already ended."


def _printed(run: Run, ranks: Iterable[int]) -> dict[str, list[str]]:
    """Return what these ranks printed, by their names in what is shown."""
    return {str(rank): run.output[rank] for rank in ranks if rank in run.output}
