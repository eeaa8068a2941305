"""Just enough of MPI, for ranks that need no TensorFlow: the environment's Open MPI, by ctypes."""

import ctypes
import sys
from pathlib import Path
from typing import Self


class World:
    """All ranks of the job. A context manager: entering it initialises MPI, leaving it without an error finalises it.

    Attributes:
        rank: the number of this rank.
        size: the number of ranks.
    """

    def __enter__(self) -> Self:
        """Wait until all ranks are there."""
        self._mpi = ctypes.CDLL(str(Path(sys.prefix, "lib", "libmpi.so.40")), mode=ctypes.RTLD_GLOBAL)
        names = "ompi_mpi_comm_world", "ompi_mpi_byte"
        self._world, self._byte = (ctypes.byref(ctypes.c_char.in_dll(self._mpi, name)) for name in names)
        self._mpi.MPI_Init(None, None)
        rank, size = ctypes.c_int(), ctypes.c_int()
        self._mpi.MPI_Comm_rank(self._world, ctypes.byref(rank))
        self._mpi.MPI_Comm_size(self._world, ctypes.byref(size))
        self.rank, self.size = rank.value, size.value
        return self

    def __exit__(self, error: object, *more: object) -> None:
        """Wait until all ranks are done, unless this one fails."""
        if error is None:
            self._mpi.MPI_Finalize()

    def broadcast(self, megabytes: int) -> None:
        """Send so much from rank 0 to all ranks."""
        count = megabytes * 10**6
        self._mpi.MPI_Bcast(ctypes.create_string_buffer(count), count, self._byte, 0, self._world)

    def wait(self) -> None:
        """Wait within MPI for what no rank sends."""
        rank = ctypes.c_int(self.rank)  # from itself
        self._mpi.MPI_Recv(ctypes.create_string_buffer(1), 1, self._byte, rank, 0, self._world, None)
