"""A rank for tests of launch scripts: real MPI, and no TensorFlow, whose import would take most of the time.

    mpirun ... python rank.py FOLDER [ARGUMENT ...]

When all ranks have started, each writes what it was given to FOLDER/RANK.json. Then rank 0 sends MEGABYTES to all, and
they print "up". With SEED=fail, the last rank then ends with status 3, and the others wait for ever. With
SEED=wait, all wait.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

MEGABYTES = 8


def main(folder: Path) -> None:
    """Be a rank."""
    mpi = ctypes.CDLL(str(Path(sys.prefix, "lib", "libmpi.so.40")), mode=ctypes.RTLD_GLOBAL)
    world, byte = (ctypes.byref(ctypes.c_char.in_dll(mpi, f"ompi_mpi_{name}")) for name in ("comm_world", "byte"))
    mpi.MPI_Init(None, None)
    rank, size = ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    mpi.MPI_Comm_size(world, ctypes.byref(size))
    data = Path(os.environ["DATA"])
    given = {
        "host": os.uname().nodename,
        "variables": {name: os.environ.get(name) for name in ("RUN", "SEED")},
        "data": [str(data), sorted(path.read_text() for path in data.iterdir())],
        "arguments": sys.argv[2:],
    }
    new = folder / f"{rank.value}.new"
    new.write_text(json.dumps(given))
    new.rename(folder / f"{rank.value}.json")
    count = MEGABYTES * 10**6
    mpi.MPI_Bcast(ctypes.create_string_buffer(count), count, byte, 0, world)
    print("up", flush=True)
    if os.environ.get("SEED") == "fail" and rank.value == size.value - 1:
        sys.exit(3)
    if os.environ.get("SEED") in ("fail", "wait"):
        mpi.MPI_Recv(ctypes.create_string_buffer(1), 1, byte, rank, 0, world, None)  # from itself, and it sends nothing
    mpi.MPI_Finalize()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
