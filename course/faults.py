"""Kill a rank in the middle of an epoch, to show how the training reacts."""

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from course import launch

# What Keras prints on rank 0 when an epoch begins, and when it has ended.
_BEGUN = re.compile(r"\[0\] Epoch (\d+)/\d+$")
_ENDED = re.compile(r"\[0\] (\d+)/\1 \[=+\] - \d+m?s .*? loss: (\S+)")


@dataclass
class Failure:
    """A run that lost a rank. Times are seconds since 1970."""

    rank: int  # the one that was killed
    began: float
    killed: float = 0.0
    epoch_starts: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)  # of the epochs that were completed
    reason: str = ""  # launch's error message


def kill_rank(
    path: str | Path, np: int, *, rank: int, epoch: int, say: Callable[[str], None] = print, **options: Any
) -> Failure:
    """Run a script on np ranks, kill one of them in the middle of an epoch, and return how far the run came.

    Args:
        path: the script; its rank 0 prints what Keras prints.
        np: the number of ranks.
        rank: the one to kill, by SIGKILL, which leaves it no time to tidy up.
        epoch: the epoch to kill it in, 2 or more, as Keras counts them; its middle is estimated from the one before.
        say: takes each line as it is printed.
        options: as for launch.script().

    Raises:
        launch.RunError: the run ended, with or without an error, before the rank was killed.
    """
    failure = Failure(rank, began=time.time())

    def follow(line: str) -> None:
        say(line)
        if ended := _ENDED.match(line):
            failure.losses.append(float(ended[2]))
        if begun := _BEGUN.match(line):
            failure.epoch_starts.append(time.time())
            if int(begun[1]) == epoch:
                time.sleep((failure.epoch_starts[-1] - failure.epoch_starts[-2]) / 2)
                failure.killed = time.time()
                _kill(rank)

    try:
        launch.script(path, np, say=follow, **options)
    except launch.RunError as error:
        if not failure.killed:
            raise
        failure.reason = str(error)
        return failure
    raise launch.RunError(
        f"No rank was killed, and the run ended without an error: rank 0 did not print 'Epoch {epoch}/…'. "
        "Keras prints it if verbose is 1."
    )


def _kill(rank: int) -> None:
    """Kill a rank, which is one of this process's descendants."""
    for process in psutil.Process(os.getpid()).children(recursive=True):
        with suppress(psutil.Error):
            if process.environ().get("OMPI_COMM_WORLD_RANK") == str(rank):
                process.send_signal(signal.SIGKILL)
