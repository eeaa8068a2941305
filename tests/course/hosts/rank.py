"""A rank for tests of launch scripts: real MPI, and no TensorFlow, whose import would take most of the time.

    mpirun ... python rank.py FOLDER [ARGUMENT ...]

When all ranks have started, each writes what it was given to FOLDER/RANK.json. Then rank 0 sends MEGABYTES to all, and
they print "up". With SEED=fail, the last rank then ends with status 3, and the others wait for ever. With
SEED=wait, all wait.
"""

import json
import os
import sys
from pathlib import Path

from course.internal.mpi import World

MEGABYTES = 8


def main(folder: Path) -> None:
    """Be a rank."""
    with World() as world:
        _work(world, folder)


def _work(world: World, folder: Path) -> None:
    """Do what a program does, between the start of MPI and its end."""
    data = Path(os.environ["DATA"])
    given = {
        "host": os.uname().nodename,
        "variables": {name: os.environ.get(name) for name in ("RUN", "SEED")},
        "data": [str(data), sorted(path.read_text() for path in data.iterdir())],
        "arguments": sys.argv[2:],
    }
    new = folder / f"{world.rank}.new"
    new.write_text(json.dumps(given))
    new.rename(folder / f"{world.rank}.json")
    world.broadcast(MEGABYTES)
    print("up", flush=True)
    if os.environ.get("SEED") == "fail" and world.rank == world.size - 1:
        sys.exit(3)
    if os.environ.get("SEED") in ("fail", "wait"):
        world.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
