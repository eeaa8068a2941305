"""Correct scripts of step 21, allreduce.py. Each one passes."""

from tests.corpus.allreduce_passages import (
    ARRIVED,
    BODY,
    CHUNKS,
    FIRST_EXCHANGE,
    NEIGHBOURS,
    PREPARED,
    SECOND_EXCHANGE,
)
from tests.corpus.variant import right

_ISEND = """        request = comm.Isend(sent, after)
        comm.Recv({received}, before)
        request.Wait()
"""

_BOTH = """        MPI.Request.Waitall([comm.Irecv({received}, before), comm.Isend(sent, after)])
"""

_ODD_EVEN = """        if comm.rank % 2 == 0 and comm.rank != comm.size - 1:
            comm.Send(sent, after)
            comm.Recv({received}, before)
        else:
            arriving = np.empty_like({received})
            comm.Recv(arriving, before)
            comm.Send(sent, after)
            {received}[:] = arriving
"""

# Rank 0 alone receives before it sends.
_ONE_FIRST = """        if comm.rank == 0:
            comm.Recv({received}, before)
            comm.Send(sent, after)
        else:
            copy = sent.copy()
            comm.Send(copy, after)
            comm.Recv({received}, before)
"""

_LOWER = """        own = comm.sendrecv(sent, after, source=before)
"""

_LOWER_COPIED = """        received[:] = comm.sendrecv(sent, after, source=before)
"""

_LOWER_ISEND = """        request = comm.isend(sent, dest=after)
        {received}[:] = comm.recv(source=before)
        request.wait()
"""

_SLICES = """    n = len(out)
    bounds = [n * rank // comm.size for rank in range(comm.size + 1)]
    chunks = [out[first:last] for first, last in zip(bounds, bounds[1:])]
"""

_PADDED = """    size, rank = comm.Get_size(), comm.Get_rank()
    each = -(-len(array) // size)
    padded = np.zeros(each * size, array.dtype)
    padded[: len(array)] = array
    chunks = padded.reshape(size, each)
    arrived = np.empty(each, array.dtype)
    for step in range(size - 1):
        comm.Sendrecv(chunks[(rank - step) % size], (rank + 1) % size, recvbuf=arrived, source=(rank - 1) % size)
        chunks[(rank - step - 1) % size] += arrived
    for step in range(size - 1):
        sent = chunks[(rank - step + 1) % size].copy()
        comm.Sendrecv(sent, (rank + 1) % size, recvbuf=arrived, source=(rank - 1) % size)
        chunks[(rank - step) % size] = arrived
    total = padded[: len(array)]
    if out is None:
        return total
    out[:] = total
    return out
"""

_CLASS = """    return Ring(comm).sum(array, array.copy() if out is None else out)


class Ring:
    \"\"\"A ring of ranks.\"\"\"

    def __init__(self, comm):
        self.comm, self.size, self.rank = comm, comm.Get_size(), comm.Get_rank()

    def shift(self, chunk, room):
        \"\"\"Send a chunk to the next rank, and receive the one of the rank before.\"\"\"
        self.comm.Sendrecv(chunk, (self.rank + 1) % self.size, 7, room, (self.rank - 1) % self.size, 7)
        return room

    def sum(self, array, total):
        total[...] = array
        edges = np.linspace(0, len(total), self.size + 1).astype(int)
        chunk = lambda number: total[edges[number % self.size] : edges[number % self.size + 1]]  # noqa: E731
        for step in range(2 * self.size - 2):
            adds = step < self.size - 1
            sent, room = chunk(self.rank - step), chunk(self.rank - step - 1)
            if adds:
                room += self.shift(sent, np.empty_like(room))
            else:
                self.shift(sent, room)
        return total
"""

_SKIPS_EMPTY = """        requests = [comm.Isend(sent, after)] if len(sent) else []
        if len(received):
            comm.Recv({received}, before)
        for request in requests:
            request.Wait()
"""

_OTHER_COMM = """    comm = comm.Create_cart([comm.size], periods=[True])
    before, after = comm.Shift(0, 1)
"""

_ONE_ALONE = """    if comm.size == 1:
        if out is None:
            return array.copy()
        out[:] = array
        return out
"""

_BYTES = """        comm.Sendrecv([sent, MPI.BYTE], after, recvbuf=[{received}, MPI.BYTE], source=before)
"""

_NO_OUT_YET = """    total = array.astype(array.dtype)
    given, out = out, total
"""

_MPI = ("import numpy as np\n", "import numpy as np\nfrom mpi4py import MPI\n")
_COPIED_AT_THE_END = (
    "    return out\n",
    "    if given is None:\n        return out\n    np.copyto(given, out)\n    return given\n",
)


def _exchanges(text: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return edits that exchange chunks in another way in both halves."""
    return (
        (FIRST_EXCHANGE, text.format(received="own")),
        (SECOND_EXCHANGE, text.format(received="received")),
    )


CORRECT = [
    right(21, "solution", in_ci=True)(),
    right(21, "Isend and Recv")(*_exchanges(_ISEND)),
    right(21, "Isend and Irecv")(_MPI, *_exchanges(_BOTH)),
    right(21, "blocking messages, even ranks send first")(*_exchanges(_ODD_EVEN)),
    right(21, "blocking messages, rank 0 receives first")(*_exchanges(_ONE_FIRST)),
    right(21, "pickled messages", in_ci=True)((FIRST_EXCHANGE, _LOWER), (SECOND_EXCHANGE, _LOWER_COPIED)),
    right(21, "pickled messages without waiting")(*_exchanges(_LOWER_ISEND)),
    right(21, "slices in place of array_split")((CHUNKS, _SLICES), (ARRIVED, "    arrived = np.empty(n, out.dtype)\n")),
    right(21, "chunks are padded to one size")((BODY, _PADDED)),
    right(21, "the ring goes the other way")(
        (NEIGHBOURS, NEIGHBOURS.replace("after, before", "before, after")),
        ("comm.rank - step", "comm.rank + step"),
        ("comm.rank + step - 1", "comm.rank + step + 1"),
        ("comm.rank + 1 - step", "comm.rank - 1 + step"),
    ),
    right(21, "a class of its own", in_ci=True)((BODY, _CLASS)),
    right(21, "chunks without elements are not sent")(
        (FIRST_EXCHANGE, _SKIPS_EMPTY.format(received="own")),
        (SECOND_EXCHANGE, _SKIPS_EMPTY.format(received="received")),
    ),
    right(21, "a communicator with the neighbours in it")((NEIGHBOURS, _OTHER_COMM)),
    right(21, "one rank is a case of its own")((PREPARED, f"{_ONE_ALONE}{PREPARED}")),
    right(21, "bytes in place of numbers")(_MPI, *_exchanges(_BYTES)),
    right(21, "summed in an array of its own")((PREPARED, _NO_OUT_YET), _COPIED_AT_THE_END),
    right(21, "an array for each message")((ARRIVED, ""), ("arrived[: len(received)]", "np.empty_like(received)")),
]
