"""Run a job that hangs, look at its ranks while they wait, and let Horovod end it."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from course import launch
from course.steps import SOLUTIONS

JOBS = SOLUTIONS / "hang"  # the programs of the exercise
RANKS = 3  # that the jobs of the exercise are for

# Seconds after which Horovod warns, and after which it ends the job. It looks now and then only, so both come later.
SOON = {"HOROVOD_STALL_CHECK_TIME_SECONDS": "5", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "12"}

_REPORT = "Missing ranks"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # py-spy's, where a notebook's kernel asks programs for colours
_FRAME = re.compile(r'^\[(\d+)\] +File "(.+?)", line (\d+) in (.+)$')  # faulthandler's, as a rank prints it

Look = Callable[[Mapping[int, int]], None]


@dataclass
class Hang:
    """A job that hung: what its ranks printed, and how it ended."""

    program: Path
    reason: str = ""  # why it ended, as the launcher sums it up; "" where it ended by itself
    said: list[str] = field(default_factory=list)  # the lines of all ranks, each with its rank in brackets

    def warning(self) -> list[str]:
        """Return the lines of Horovod's last stall warning: "Missing ranks", and one line per rank."""
        heads = [number for number, line in enumerate(self.said) if _REPORT in line]
        if not heads:
            return []
        ranks = [line for line in self.said[heads[-1] + 1 :] if re.match(r"\[\d+\] \d+!?: \[", line)]
        return [self.said[heads[-1]], *ranks]

    def tracebacks(self) -> list[str]:
        """Return what faulthandler printed of the job's own program: each rank with its lines, the innermost first."""
        lines: dict[int, list[str]] = {}
        for line in self.said:
            frame = _FRAME.match(line)
            if frame and Path(frame[2]).name == self.program.name:
                text = f"rank {frame[1]}: {self.program.name}, line {frame[3]} in {frame[4]}"
                lines.setdefault(int(frame[1]), []).append(text)
        return [text for _, own in sorted(lines.items()) for text in own]


def show(program: str | Path) -> None:
    """Print a program with the numbers of its lines."""
    for number, line in enumerate(Path(program).read_text().splitlines(), 1):
        print(f"{number:3}  {line}".rstrip())


def run(
    program: str | Path, np: int = RANKS, look: Look | None = None, variables: dict[str, str] | None = None
) -> Hang:
    """Run a job until it ends or Horovod ends it, and return what its ranks printed. Nothing of it is printed here.

    Args:
        program: the script.
        np: the number of ranks.
        look: is called once, when Horovod warns for the first time, with the process of each rank.
        variables: further environment variables for the ranks.
    """
    found = Hang(Path(program))
    looked = False

    def say(line: str) -> None:
        nonlocal looked
        found.said.append(line)
        if look and _REPORT in line and not looked:
            looked = True
            look(processes(program))

    began = time.monotonic()
    try:
        launch.script(program, np, say=say, variables=SOON | (variables or {}))
    except launch.RunError as error:
        found.reason = error.reason
    how = "Horovod ended it" if found.warning() else "It failed" if found.reason else "It ended"
    print(f"{found.said[0]}\n{how} after {time.monotonic() - began:.0f} s.")
    return found


def processes(program: str | Path) -> dict[int, int]:
    """Return the process of each rank of a program that this process has started, by rank."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        try:
            rank = process.environ().get("OMPI_COMM_WORLD_RANK")
            if rank is not None and str(program) in process.cmdline():
                found[int(rank)] = process.pid
        except psutil.Error:  # it has just ended
            continue
    return dict(sorted(found.items()))


def py_spy(ranks: Mapping[int, int]) -> None:
    """Print the stack of each rank's main thread with py-spy; where it may not attach, ask faulthandler for them."""
    for rank, process in ranks.items():
        command = ["py-spy", "dump", "--pid", str(process)]
        dumped = subprocess.run(command, capture_output=True, text=True)
        print(f"$ {' '.join(command)}    # rank {rank}")
        if dumped.returncode:
            print(f"py-spy cannot attach here: {dumped.stderr.strip()}\nfaulthandler prints the stack instead.")
            os.kill(process, signal.SIGUSR1)
        else:
            print(_main_thread(dumped.stdout))


def _main_thread(dump: str) -> str:
    """Return the stack of the main thread, without the launcher's frames below the program's."""
    threads = re.split(r"(?m)^(?=Thread )", _COLOUR.sub("", dump))
    main = next((thread for thread in threads if "MainThread" in thread), dump)
    lines = main.strip().splitlines()
    own = [
        number for number, line in enumerate(lines) if line.lstrip().startswith("<module> (") and "runpy" not in line
    ]
    return "\n".join(lines[: own[0] + 1] if own else lines)


def ask_faulthandler(ranks: Mapping[int, int]) -> None:
    """Send each rank SIGUSR1, for which the program has registered faulthandler."""
    for rank, process in ranks.items():
        print(f"$ kill -USR1 {process}    # rank {rank}")
        os.kill(process, signal.SIGUSR1)
