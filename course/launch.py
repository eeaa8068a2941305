"""Start ranks under mpirun, pass on what they print, and end every one of them, whatever happens."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from course import watch
from course.hosts import rendezvous
from course.steps import ROOT

# Flags of the programs: a model that trains in seconds on two cores, or the full one.
PROFILES = {"cpu": {"depth": 10, "widen_factor": 1}, "gpu": {}}

# The same for the programs of the second part, on the ten classes of Fashion-MNIST's images.
IMAGE_PROFILES = {
    "cpu": {"classes": 10, "model": "small", "image_size": 32, "batch_size": 16, "val_batch_size": 16},
    "gpu": {"classes": 10, "image_size": 64},
}

TIMEOUT = 600  # seconds a run may take, unless its caller says otherwise
LAST_LINES = 15  # of a failed rank's output, to show again with the reason

_TAGGED = re.compile(r"\[(\d+)\]<(stdout|stderr)>: ?(.*)")
_SIGNALLED = re.compile(r"process\s+rank\s+(\d+)\s+with\s+PID\s+\d+\s+on\s+node\s+\S+\s+exited\s+on\s+signal\s+(\d+)")
_EXITED = re.compile(r"Process name: \[.*?(\d+)\]\s+Exit code:\s+(\d+)")
_STALLED = re.compile(r"^(\d+)!?: \[(.+?)[,\]]", re.MULTILINE)


@dataclass
class Run:
    """One run of ranks: the command a person would type for it, and what came of it."""

    command: str
    np: int
    began: float = 0.0  # seconds since 1970
    seconds: float = 0.0
    output: dict[int, list[str]] = field(default_factory=dict)  # rank -> its lines, as a terminal would show them
    notices: list[str] = field(default_factory=list)  # what mpirun itself said
    records: list[watch.Record] = field(default_factory=list)  # by rank; empty where no script was watched


class RunError(RuntimeError):
    """Ranks did not all end well; the message tells which one, why, and what it said last."""

    def _render_traceback_(self):
        """Show the message alone in a notebook: the lines of this module are no help to a learner."""
        return [f"{type(self).__name__}: {self}"]


def gpu_count() -> int:
    """Return how many NVIDIA GPUs this machine has, without starting TensorFlow."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return len(listed.stdout.splitlines())


def environment(np: int) -> dict[str, str]:
    """Return the variables that np ranks on this machine want. Those already set by the user win.

    With them a plain `mpirun -np N python script.py` works as root, with more ranks than cores, and in a container.
    """
    threads = str(max(1, len(os.sched_getaffinity(0)) // np))
    wanted = {
        # Ranks that wait inside MPI give their core away. Otherwise they keep it from a rank that has work to do.
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": "slot:oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        # All ranks' threads together fill the cores, and no more.
        "OMP_NUM_THREADS": threads,
        "TF_NUM_INTRAOP_THREADS": threads,
        "TF_NUM_INTEROP_THREADS": threads,
        # A collective that some ranks never join is reported and ended within a minute. Horovod's own: 60 s, and never.
        "HOROVOD_STALL_CHECK_TIME_SECONDS": "10",
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "30",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "PYTHONUNBUFFERED": "1",
    }
    if os.geteuid() == 0:
        for variable in ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"):
            wanted |= {variable: "1", f"{variable}_CONFIRM": "1"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return wanted | os.environ | {"PATH": path}


def script(
    path: str | Path,
    np: int,
    *,
    weights: bool = False,
    one_core_each: bool = False,
    hosts: int = 1,
    timeout: float = TIMEOUT,
    say: Callable[[str], None] = print,
    variables: dict[str, str] | None = None,
    **flags: object,
) -> Run:
    """Run a training script on np ranks and return what they printed and did.

    Args:
        path: the script.
        np: how many ranks.
        weights: keep the trainable weights of every batch in the records.
        one_core_each: confine every rank to a core of its own.
        hosts: how many hosts to simulate, with np // hosts ranks each. With more than one, the ranks of host K work in
            a folder host-K below this one, the host's own disk: the script and absolute paths are the same for all.
            Horovod then goes by Gloo, which never names a rank that others wait for: such a run ends by its timeout.
        timeout: seconds after which the run is ended.
        say: takes each line as it comes.
        variables: environment variables for the ranks.
        flags: the script's arguments; train_samples=512 becomes --train-samples 512, None leaves a flag out.
            "{rank}" in a value stands for the rank's number.

    Raises:
        RunError: a rank failed or was killed, ranks waited for each other for good, or time ran out.
    """
    if not Path(path).is_file():
        raise RunError(
            f"There is no file {path} here. Each step's notebook puts its own in place; run its cells in order."
        )
    if np % hosts:
        raise RunError(f"{np} ranks do not fill {hosts} hosts evenly. Take a multiple of {hosts} ranks.")
    arguments = command_line(flags)
    layout = ["--host", ",".join(f"host-{host}:{np // hosts}" for host in range(hosts))] if hosts > 1 else []
    shown = ["mpirun", "-np", str(np), *layout, "python", str(path).removeprefix(f"{ROOT}/"), *arguments]
    variables = dict(variables or {})
    if weights:
        variables["COURSE_WATCH_WEIGHTS"] = "1"
    if one_core_each:
        variables["COURSE_WATCH_ONE_CORE"] = "1"
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="course-run-"))
        if hosts > 1:
            port = stack.enter_context(rendezvous(hosts, np // hosts))
            variables |= {"COURSE_WATCH_HOSTS": str(hosts), "COURSE_WATCH_RENDEZVOUS": str(port)}
        command = [sys.executable, "-m", "course.watch", directory, str(path), *arguments]
        run = mpirun(command, np, timeout=timeout, say=say, variables=variables, shown=shlex.join(shown))
        run.records = watch.read(Path(directory))
    return run


def command_line(flags: dict[str, object]) -> list[str]:
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
    say: Callable[[str], None] = print,
    variables: dict[str, str] | None = None,
    shown: str | None = None,
) -> Run:
    """Run any command on np ranks; see script() for the arguments. shown stands for the command where it is printed.

    Raises:
        RunError: as script() does.
    """
    run = Run(shown or shlex.join(["mpirun", "-np", str(np), *command]), np)
    say(f"$ {run.command}")
    run.began = time.time()
    process = subprocess.Popen(
        [sys.executable, "-m", "course.guard", "mpirun", "--output", "rank", "-np", str(np), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(np) | (variables or {}),
        start_new_session=True,
    )
    out_of_time = threading.Event()
    timer = threading.Timer(timeout, lambda: (out_of_time.set(), process.stdin.close()))
    try:
        timer.start()
        for line in process.stdout:
            _take(line.decode(errors="replace").rstrip("\n"), run, say)
        code = process.wait()
    finally:
        timer.cancel()
        process.stdin.close()
        process.wait()
        process.stdout.close()
    run.seconds = time.time() - run.began
    if out_of_time.is_set():
        raise RunError(f"The run was ended after its {timeout:g} s. {_last_words(run, range(np))}")
    if code:
        raise RunError(_reason(run, code))
    return run


def _take(line: str, run: Run, say: Callable[[str], None]) -> None:
    """Keep a line of mpirun's output where it belongs, and pass it on."""
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
    """Return what is left to see of a line that went back to its start, as progress bars do."""
    return text.replace("\b", "").rstrip("\r").rpartition("\r")[2].rstrip()


def _reason(run: Run, code: int) -> str:
    """Say which rank failed and how, from what mpirun and Horovod reported."""
    notices = "\n".join(run.notices)
    printed = "\n".join(line for lines in run.output.values() for line in lines)
    _, warned, missing = printed.rpartition("Missing ranks")  # the last warning: an early one may not have them all yet
    if warned and (stalled := _STALLED.search(missing)):
        return (
            f"The ranks waited for each other until Horovod ended the run: rank {stalled[1]} never took part in "
            f"{stalled[2]}. Every rank must reach every collective (allreduce, broadcast), as often as the others do. "
            f"{_last_words(run, [int(stalled[1])])}"
        )
    if "Horovod has been shut down" in printed and (exited := _EXITED.search(notices)):
        rank = int(exited[1])
        return (
            f"Rank {rank} waited in a collective (allreduce, broadcast) for a rank that had already ended. Every rank "
            f"must reach every collective, as often as the others do. {_last_words(run, [rank])}"
        )
    if signalled := _SIGNALLED.search(notices):
        rank, number = int(signalled[1]), int(signalled[2])
        name = signal.Signals(number).name
        cure = " Often this is the system, short of memory: try fewer ranks." if number == signal.SIGKILL else ""
        return f"Rank {rank} was killed by signal {number} ({name}).{cure} {_last_words(run, [rank])}"
    if exited := _EXITED.search(notices):
        rank, status = int(exited[1]), exited[2]
        return f"Rank {rank} ended with exit status {status}. {_last_words(run, [rank])}"
    if code - 128 in signal.valid_signals():
        name = signal.Signals(code - 128).name
        return f"mpirun itself was killed by signal {code - 128} ({name}), and its ranks ended with it."
    return f"mpirun ended with exit status {code}. {_last_words(run, sorted(run.output))}\n{notices}"


def _last_words(run: Run, ranks) -> str:
    """Return the last lines that these ranks printed."""
    lines = [f"[{rank}] {line}" for rank in ranks for line in run.output.get(rank, [])[-LAST_LINES:]]
    return "\n".join(["The last lines:", *lines]) if lines else "Nothing had been printed."
