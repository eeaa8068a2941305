"""A rank for launch scripts: real MPI, and no TensorFlow, whose import would take most of a judgement's time.

    mpirun ... python rank.py FOLDER [ARGUMENT ...]

Rank 0 sends MEGABYTES to all ranks. Each rank then writes FOLDER/ready-RANK, and waits for the file FOLDER/go, whose
text says how to continue: "end" all, "fail" the last rank with status STATUS while the others wait, or "wait".
"""

import signal
import sys
import time
from pathlib import Path

from course.internal.mpi import World

MEGABYTES = 8
STATUS = 3


def main(folder: Path) -> None:
    """Be a rank."""
    with World() as world:
        world.broadcast(MEGABYTES)
        Path(folder, f"ready-{world.rank}").write_text(str(world.size))
        go = _order(folder)
        if go == "fail" and world.rank == world.size - 1:
            sys.exit(STATUS)
        while go != "end":
            signal.pause()


def _order(folder: Path) -> str:
    """Wait until there is an order, and return it."""
    while True:
        try:
            return Path(folder, "go").read_text()
        except FileNotFoundError:
            time.sleep(0.02)  # other hosts' files come without a notice


if __name__ == "__main__":
    main(Path(sys.argv[1]))
