"""A rank for scripts on hosts: real MPI, and no TensorFlow, whose import would take most of a judgement's time.

    mpirun ... python rank.py FOLDER [ARGUMENT ...]

Rank 0 sends MEGABYTES to all ranks. Under Slurm, it prints which run of the job this is, from 0, with the digest of a
secret; FOLDER/digest-RUN has that digest, too. It saves a checkpoint in the folder CHECKPOINTS, if there is one: a file
whose text is the number of the run. Each rank then writes FOLDER/ready-RUN-RANK, and waits for the file FOLDER/go,
whose text says how to continue: "end" all, "fail" the last rank with status STATUS while the others wait, or "wait". On
SIGUSR1, rank 0 saves another checkpoint, whose text is the secret, and all end.
"""

import hashlib
import os
import secrets
import signal
import sys
import time
from pathlib import Path

from course.internal.mpi import World

MEGABYTES = 8
STATUS = 3
CHECKPOINT = "checkpoint-"  # how the names of checkpoints begin
DIGITS = 32  # of a digest

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
    secret = secrets.token_hex()
    if world.rank == 0 and "SLURM_JOB_ID" in os.environ:
        print(f"run {run} of the job: {digest(secret)}", flush=True)
        Path(folder, f"digest-{run}").write_text(digest(secret))
        _save(f"{CHECKPOINT}{run}", run)
    Path(folder, f"ready-{run}-{world.rank}").write_text(str(world.size))
    go = _order(folder)
    if go == "fail" and world.rank == world.size - 1:
        sys.exit(STATUS)
    while go != "end":
        signal.pause()
    if asked_to_end and world.rank == 0:
        _save(f"{CHECKPOINT}{run}-asked", secret)


def digest(secret: str) -> str:
    """Return what shows that one knows a secret, without telling it."""
    return hashlib.sha256(secret.encode()).hexdigest()[:DIGITS]


def _save(name: str, text: str) -> None:
    """Write a checkpoint, if there is a folder for it."""
    folder = Path(os.environ.get("CHECKPOINTS", ""))
    if folder.is_dir():
        new = folder / f"{name}.new"
        new.write_text(text)
        new.rename(folder / name)


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
