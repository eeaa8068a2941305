"""Open MPI's own count of the messages and bytes that a rank sends: its component pml/monitoring, read through MPI_T.

mpirun has to start the ranks with OPTIONS. Messages that collectives of MPI consist of are not counted.
"""

import ctypes
import sys
from pathlib import Path

OPTIONS = "--mca", "pml_monitoring_enable", "2"  # 2: messages inside of collectives are counted separately
CLASS_SIZE = 2  # MPI_T_PVAR_CLASS_SIZE of mpi.h in Open MPI


class Monitoring:
    """The counters of this rank.

    Raises:
        LookupError: Open MPI was started without OPTIONS.
    """

    def __init__(self) -> None:
        """Begin to count."""
        from mpi4py import MPI  # which starts MPI, for ranks only

        self._mpi = ctypes.CDLL(str(Path(sys.prefix, "lib", "libmpi.so.40")))
        self._session = ctypes.c_void_p()
        self._world = ctypes.c_void_p(MPI._handleof(MPI.COMM_WORLD))
        self._mpi.MPI_T_init_thread(MPI.THREAD_SINGLE, ctypes.byref(ctypes.c_int()))
        self._mpi.MPI_T_pvar_session_create(ctypes.byref(self._session))
        self._counters = [self._start(f"pml_monitoring_messages_{what}".encode()) for what in ("count", "size")]

    def _start(self, name: bytes) -> tuple[ctypes.c_void_p, ctypes.Array[ctypes.c_uint64]]:
        """Return the handle of a variable, and room for a value per receiver."""
        index, handle, count = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_int()
        if self._mpi.MPI_T_pvar_get_index(name, CLASS_SIZE, ctypes.byref(index)):
            raise LookupError(f"Open MPI counts no messages. Start the ranks with mpirun {' '.join(OPTIONS)}.")
        world, room = ctypes.byref(self._world), ctypes.byref(count)
        self._mpi.MPI_T_pvar_handle_alloc(self._session, index, world, ctypes.byref(handle), room)
        self._mpi.MPI_T_pvar_start(self._session, handle)
        return handle, (ctypes.c_uint64 * count.value)()

    def sent(self) -> tuple[int, int]:
        """Return how many messages and bytes this rank has sent, to all ranks together, since MPI was started."""
        for handle, values in self._counters:
            self._mpi.MPI_T_pvar_read(self._session, handle, values)
        messages, size = (sum(values) for _, values in self._counters)
        return messages, size
