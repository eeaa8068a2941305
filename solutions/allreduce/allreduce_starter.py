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
    # TODO: Step 21: cut `out` into one chunk per rank. First send a chunk to the next rank and add the one that arrives
    # from the rank before, until each rank has the complete sum of one chunk. Then send the complete sums around the
    # ring, until each rank has all of them.
    return out
