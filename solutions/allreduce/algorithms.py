"""Three ways to sum an array over all ranks, each from messages between two ranks.

Each function takes a communicator of mpi4py and this rank's array, and returns the sum of the arrays of all ranks.
"""

import numpy as np


def gather_and_broadcast(comm, array):
    """Send all arrays to rank 0, which adds them and sends the sum to all ranks."""
    total = array.copy()
    if comm.rank == 0:
        arrived = np.empty_like(array)
        for rank in range(1, comm.size):
            comm.Recv(arrived, rank)
            total += arrived
        for rank in range(1, comm.size):
            comm.Send(total, rank)
    else:
        comm.Send(array, 0)
        comm.Recv(total, 0)
    return total


def tree(comm, array):
    """Add arrays in pairs, then sums of two in pairs, and so on, up to rank 0; the sum goes down the same way."""
    total, arrived = array.copy(), np.empty_like(array)
    distances = [2**level for level in range((comm.size - 1).bit_length())]  # 1, 2, 4, ...
    for distance in distances:
        if comm.rank % (2 * distance) == distance:
            comm.Send(total, comm.rank - distance)
        elif comm.rank % (2 * distance) == 0 and comm.rank + distance < comm.size:
            comm.Recv(arrived, comm.rank + distance)
            total += arrived
    for distance in reversed(distances):
        if comm.rank % (2 * distance) == distance:
            comm.Recv(total, comm.rank - distance)
        elif comm.rank % (2 * distance) == 0 and comm.rank + distance < comm.size:
            comm.Send(total, comm.rank + distance)
    return total


def recursive_doubling(comm, array):
    """Exchange whole sums with a partner at distance 1, then 2, then 4: each exchange doubles what a sum contains.

    Raises:
        ValueError: the number of ranks is not 1, 2, 4, 8 or another power of two.
    """
    if comm.size & (comm.size - 1):
        raise ValueError(f"recursive doubling takes 2, 4, 8, ... ranks, not {comm.size}")
    total, arrived = array.copy(), np.empty_like(array)
    distance = 1
    while distance < comm.size:
        partner = comm.rank ^ distance  # the rank whose number differs in one binary digit
        comm.Sendrecv(total, partner, recvbuf=arrived, source=partner)
        total += arrived
        distance *= 2
    return total
