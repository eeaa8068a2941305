"""A rank for launch scripts: real MPI, and no TensorFlow, whose import would take most of a judgement's time.

    mpirun ... python rank.py FOLDER [ARGUMENT ...]

Rank 0 sends MEGABYTES to all ranks. Each rank then writes FOLDER/ready-RANK, and waits for the file FOLDER/go, whose
text says how to continue: "end" all, "fail" the last rank with status STATUS while the others wait, or "wait".
"""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

MEGABYTES = 8
STATUS = 3


def main(folder: Path) -> None:
    """Be a rank."""
    mpi = ctypes.CDLL(str(Path(sys.prefix, "lib", "libmpi.so.40")), mode=ctypes.RTLD_GLOBAL)
    world, byte = (ctypes.byref(ctypes.c_char.in_dll(mpi, f"ompi_mpi_{name}")) for name in ("comm_world", "byte"))
    mpi.MPI_Init(None, None)
    rank, size = ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    mpi.MPI_Comm_size(world, ctypes.byref(size))
    count = MEGABYTES * 10**6
    mpi.MPI_Bcast(ctypes.create_string_buffer(count), count, byte, 0, world)
    Path(folder, f"ready-{rank.value}").write_text(str(size.value))
    last = rank.value == size.value - 1
    go = _order(folder)
    if go == "fail" and last:
        sys.stdout.flush()
        os._exit(STATUS)
    while go != "end":
        signal.pause()
    mpi.MPI_Finalize()


def _order(folder: Path) -> str:
    """Wait until there is an order, and return it."""
    while True:
        try:
            return Path(folder, "go").read_text()
        except FileNotFoundError:
            time.sleep(0.02)  # other hosts' files come without a notice


if __name__ == "__main__":
    main(Path(sys.argv[1]))
