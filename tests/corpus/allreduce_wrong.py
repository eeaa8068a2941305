"""Wrong scripts of step 21, allreduce.py, each with the check that is the first to fail."""

from course.steps import SOLUTIONS, get
from tests.corpus.allreduce_passages import (
    ARRIVED,
    BODY,
    CHUNKS,
    COPIED,
    FIRST_CHUNKS,
    FIRST_EXCHANGE,
    GATHER,
    NEIGHBOURS,
    PREPARED,
    SCATTER,
    SECOND_CHUNKS,
    SECOND_EXCHANGE,
)
from tests.corpus.variant import Variant, wrong

_SEND_FIRST = """        comm.Send(sent, after)
        comm.Recv({received}, before)
"""
_RECEIVE_FIRST = """        comm.Recv({received}, before)
        comm.Send(sent, after)
"""
_MPI = ("import numpy as np\n", "import numpy as np\nfrom mpi4py import MPI\n")

_COLLECTIVE = """    if out is None:
        out = np.empty_like(array)
    comm.Allreduce(MPI.IN_PLACE if out is array else array, out)
    return out
"""
_PICKLED_COLLECTIVE = """    total = comm.allreduce(array)
    if out is None:
        return total
    out[:] = total
    return out
"""
_WHOLE_RING = """    if out is None:
        out = np.empty_like(array)
    sent = array.copy()
    if out is not array:
        np.copyto(out, array)
    for _ in range(comm.size - 1):
        arrived = np.empty_like(sent)
        comm.Sendrecv(sent, (comm.rank + 1) % comm.size, recvbuf=arrived, source=(comm.rank - 1) % comm.size)
        out += arrived
        sent = arrived
    return out
"""
_EQUAL_CHUNKS = """    each = len(out) // comm.size
    chunks = [out[rank * each : (rank + 1) * each] for rank in range(comm.size)]
"""
_SEGMENTS = """        for part, room in zip(np.array_split(sent, 4), np.array_split({received}, 4)):
            comm.Sendrecv(part, after, recvbuf=room, source=before)
"""
_PERSISTENT = """        requests = [comm.Recv_init({received}, before), comm.Send_init(sent, after)]
        MPI.Prequest.Startall(requests)
        MPI.Prequest.Waitall(requests)
        for request in requests:
            request.Free()
"""
_ADDING_GATHER = SCATTER.replace("comm.rank - step", "comm.rank + 1 - step")
_FLOAT32 = """        small = np.empty(len({received}), "float32")
        comm.Sendrecv(sent.astype("float32"), after, recvbuf=small, source=before)
        {received}[:] = small
"""
_FLOAT64 = """        large = np.empty(len({received}), "float64")
        comm.Sendrecv(sent.astype("float64"), after, recvbuf=large, source=before)
        {received}[:] = large
"""
_WORLD = ("    if out is None:\n", "    comm = MPI.COMM_WORLD\n    if out is None:\n")


def _wrong(name: str, check: str, *edits: tuple[str, str], in_ci: bool = False) -> Variant:
    """Return a row whose first failing check is this one of step 21; without one, the script does not run."""
    return wrong(21, name, fails=21 if check else 0, check=check, in_ci=in_ci)(*edits)


def _exchanges(text: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return edits that exchange chunks in another way in both halves."""
    return (
        (FIRST_EXCHANGE, text.format(received="own")),
        (SECOND_EXCHANGE, text.format(received="received")),
    )


def _algorithm(name: str) -> str:
    """Return a function body that sums by one of the lesson's other algorithms."""
    return f"""    total = {name}(comm, array)
    if out is None:
        return total
    out[:] = total
    return out


{(SOLUTIONS / "allreduce/algorithms.py").read_text().partition("import numpy as np")[2].strip()}
"""


WRONG = [
    wrong(21, "starter", check="sums", base=get(21).starter_name, in_ci=True)(),
    _wrong("only the reduce-scatter", "sums", (GATHER, "")),
    _wrong("only the allgather", "sums", (SCATTER, "")),
    _wrong("one message too few in the reduce-scatter", "sums", (SCATTER, SCATTER.replace("size - 1):", "size - 2):"))),
    _wrong("chunks are replaced, not added", "sums", ("received += own", "received[:] = own")),
    _wrong(
        "the same chunk is sent again and again",
        "",
        ("chunks[(comm.rank - step) % comm.size]", "chunks[comm.rank]"),
    ),
    _wrong("the allgather adds", "sums", (GATHER, _ADDING_GATHER)),
    _wrong(
        "the allgather begins with another chunk",
        "sums",
        (SECOND_CHUNKS, FIRST_CHUNKS),
    ),
    _wrong("the mean in place of the sum", "sums", ("    return out\n", "    out /= comm.size\n    return out\n")),
    _wrong(
        "the sum is rounded to float32", "sums", ("out = np.empty_like(array)", 'out = np.empty(len(array), "float32")')
    ),
    _wrong("returns None", "sums", ("    return out\n", "")),
    _wrong("the remainder is left out", "lengths", (CHUNKS, _EQUAL_CHUNKS), in_ci=True),
    _wrong("array is changed", "in_place", ("out = np.empty_like(array)", "out = array")),
    _wrong("out is not used", "in_place", (PREPARED, "    out = array.copy()\n")),
    _wrong("array is not copied to out", "in_place", (COPIED, ""), ("np.empty_like(array)", "array.copy()")),
    _wrong("gather and broadcast", "messages", (BODY, _algorithm("gather_and_broadcast"))),
    _wrong("a tree", "messages", (BODY, _algorithm("tree"))),
    _wrong("whole arrays go around", "messages", (BODY, _WHOLE_RING), in_ci=True),
    _wrong("MPI's own allreduce", "messages", _MPI, (BODY, _COLLECTIVE)),
    _wrong("mpi4py's allreduce of objects", "messages", (BODY, _PICKLED_COLLECTIVE)),
    _wrong("persistent requests, which are not counted", "messages", _MPI, *_exchanges(_PERSISTENT)),
    _wrong("chunks are sent in four parts", "messages", *_exchanges(_SEGMENTS)),
    _wrong("float64 is sent as float32", "traffic", *_exchanges(_FLOAT32)),
    _wrong("float32 is sent as float64", "traffic", *_exchanges(_FLOAT64)),
    _wrong("all ranks send first", "", *_exchanges(_SEND_FIRST), in_ci=True),
    _wrong("all ranks receive first", "", *_exchanges(_RECEIVE_FIRST)),
    _wrong("both neighbours are the next rank", "", (NEIGHBOURS, NEIGHBOURS.replace("comm.rank - 1", "comm.rank + 1"))),
    _wrong("all ranks of the job in place of comm", "", _MPI, _WORLD),
    _wrong("the last rank has no next one", "", (NEIGHBOURS, "    after, before = comm.rank + 1, comm.rank - 1\n")),
    _wrong("the room is that of the last chunk", "", (ARRIVED, "    arrived = np.empty_like(chunks[-1])\n")),
    _wrong("the function has another name", "", ("def allreduce(", "def ring_allreduce(")),
    _wrong(
        "the function takes no out",
        "",
        ("(comm, array, out=None)", "(comm, array)"),
        ("    if out is None:\n        out =", "    out ="),
    ),
    _wrong(
        "rank 0 alone returns early",
        "",
        (SCATTER, f"    if comm.rank == 0 and comm.size > 2:\n        return out\n{SCATTER}"),
    ),
]
