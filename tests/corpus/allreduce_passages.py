"""Passages of step 21's solution, allreduce.py, that several rows replace."""

from tests.corpus.variant import passage

_SOLUTION = "allreduce/allreduce.py"

BODY = passage(_SOLUTION, "    if out is None:", "    return out")
PREPARED = passage(_SOLUTION, "    if out is None:", "np.copyto")
COPIED = passage(_SOLUTION, "    if out is not array:", "np.copyto")
CHUNKS = passage(_SOLUTION, "    chunks = ")
ARRIVED = passage(_SOLUTION, "    arrived = ")
NEIGHBOURS = passage(_SOLUTION, "    after, before = ")
SCATTER = passage(_SOLUTION, "    # Reduce-scatter", "received += own")
FIRST_EXCHANGE = "        comm.Sendrecv(sent, after, recvbuf=own, source=before)\n"
SECOND_EXCHANGE = "        comm.Sendrecv(sent, after, recvbuf=received, source=before)\n"
FIRST_CHUNKS = passage(_SOLUTION, "chunks[(comm.rank - step) % comm.size], chunks[(comm.rank - step - 1)")
SECOND_CHUNKS = passage(_SOLUTION, "chunks[(comm.rank + 1 - step) % comm.size]")
GATHER = passage(_SOLUTION, "    # Allgather", "comm.Sendrecv(sent, after, recvbuf=received")
