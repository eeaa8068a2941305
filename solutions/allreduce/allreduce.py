"""Sum an array over all ranks, by an allreduce whose messages go around a ring."""

import numpy as np


def allreduce(comm, array, out=None):
    """Return the sum of the arrays of all ranks.

    Args:
        comm: the ranks, as a communicator of mpi4py.
        array: of this rank, with one axis; of the same length and type on all ranks.
        out: takes the sum; it may be `array` itself. None: a new array takes it.
    """
    if out is None:
        out = np.empty_like(array)
    if out is not array:
        np.copyto(out, array)
    # Parts of `out`, not copies. Where the length is not divisible by the number of ranks, the first ones are longer.
    chunks = np.array_split(out, comm.size)
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    arrived = np.empty_like(chunks[0])
    # Reduce-scatter: at its end, this rank has the complete sum of chunk rank + 1.
    for step in range(comm.size - 1):
        sent, received = chunks[(comm.rank - step) % comm.size], chunks[(comm.rank - step - 1) % comm.size]
        own = arrived[: len(received)]
        comm.Sendrecv(sent, after, recvbuf=own, source=before)
        received += own
    # Allgather: the complete sums go around the ring.
    for step in range(comm.size - 1):
        sent, received = chunks[(comm.rank + 1 - step) % comm.size], chunks[(comm.rank - step) % comm.size]
        comm.Sendrecv(sent, after, recvbuf=received, source=before)
    return out
