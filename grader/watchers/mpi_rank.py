"""A rank for scripts on hosts: real MPI, and no TensorFlow, whose import would take most of a judgement's time.

    mpirun ... python mpi_rank.py FOLDER [ARGUMENT ...]

Rank 0 sends MEGABYTES to all ranks. Under Slurm, it prints which run of the job this is, from 0, and saves a checkpoint
in the folder CHECKPOINTS, if there is one. Each rank then writes FOLDER/ready-RUN-RANK, and waits for the file
FOLDER/go, whose text says how to continue: "end" all, "fail" the last rank with status STATUS while the others wait, or
"wait". On SIGUSR1, rank 0 saves another checkpoint, and all end.
"""

import os
import signal
import sys
import time
from pathlib import Path

from course.internal.mpi import World

MEGABYTES = 8
STATUS = 3
CHECKPOINT = "checkpoint-"  # how the names of checkpoints begin; the number of the run follows

asked_to_end = False


def on_signal(number: int, frame: object) -> None:
    """Note that the rank is asked to end."""
    global asked_to_end
    asked_to_end = True


def main(folder: Path) -> None:
    """Be a rank."""
    signal.signal(signal.SIGUSR1, on_signal)
    with World() as world:
        _train(world, folder)


def _train(world: World, folder: Path) -> None:
    """Do what a training does, between the start of MPI and its end."""
    world.broadcast(MEGABYTES)
    run = os.environ.get("SLURM_RESTART_COUNT", "0")
    if world.rank == 0 and "SLURM_JOB_ID" in os.environ:
        print(f"run {run} of the job", flush=True)
        _save(run)
    Path(folder, f"ready-{run}-{world.rank}").write_text(str(world.size))
    go = _order(folder)
    if go == "fail" and world.rank == world.size - 1:
        sys.exit(STATUS)
    while go != "end":
        signal.pause()
    if asked_to_end and world.rank == 0:
        _save(f"{run}-asked")


def _save(name: str) -> None:
    """Write a checkpoint, if there is a folder for it."""
    folder = Path(os.environ.get("CHECKPOINTS", ""))
    if folder.is_dir():
        (folder / f"{CHECKPOINT}{name}").touch()


def _order(folder: Path) -> str:
    """Wait until there is an order or the rank is asked to end, and return the order."""
    while not asked_to_end:
        try:
            return Path(folder, "go").read_text()
        except FileNotFoundError:
            time.sleep(0.02)  # other hosts' files come without a notice
    return "end"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
