"""Be a rank of the course's own, next to the rank of a submission, which is in another sandbox.

The rank announces each collective that it is about to call. The witness calls the same one, with numbers of its own
that cannot be guessed, and sees what comes out. Whatever names, order and kinds of collectives a script uses, the
witness follows. A rank that announces something else than it does gets no further, or does not fit.
"""

import os
import select
import socket
import struct
import threading
from typing import Any, NoReturn

import msgspec
import numpy as np

from course.internal import simulated_hosts
from grader.facts import Announcement, Tensor, Testimony
from grader.job import COLLECTIVES, Topology, Witness
from grader.witness.chain import Chain, MisfitError

MESSAGE = 16 * 2**20  # bytes
KINDS = "float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool"
FEW = 64  # values at most in metrics that are averaged at once
# Seconds for the rank to come: Horovod would end a rank that waits for another one for 30. Clusters run one after
# another, so on a busy machine its own begins late. If it never comes, the link closes, and the witness ends.
PATIENCE = 3600
LEAVE = 5  # seconds for a collective to come back once the rank has ended
NOISE = 0.5  # of the witness's gradients, relative to the rank's
SPREAD = 0.05  # of the witness's weights, relative to the rank's
HIGH = 8.0, 16.0  # by so much the witness's metrics are above the rank's, or below
ALIKE = 2e-3  # relative: a metric in 16 bits is the same


def attend(topology: Topology, link: int, answer: int) -> NoReturn:
    """Be the witness until the rank has ended, and write the testimony.

    Args:
        topology: the cluster; one of its ranks is the witness.
        link: the socket that the rank announces by; first, the port of the rendezvous goes there.
        answer: the pipe for the Testimony, as JSON.
    """
    assert topology.witness
    server = simulated_hosts.serve(*topology.layout)
    variables = simulated_hosts.variables(
        simulated_hosts.slot(topology.witness.rank, *topology.layout), server.server_port
    )
    witness = Companion(topology.witness)
    with socket.socket(fileno=link) as rank:
        rank.sendall(struct.pack("!I", server.server_port))
        os.environ.update(variables, HOROVOD_GLOO_TIMEOUT_SECONDS=str(PATIENCE))
        working = threading.Thread(target=witness.work, args=(rank,), daemon=True)
        working.start()
        ended = select.poll()
        ended.register(rank, select.POLLRDHUP)
        ended.poll()
        working.join(LEAVE)
    with os.fdopen(answer, "wb") as file:
        file.write(msgspec.json.encode(witness.testimony()))
    os._exit(0)


def _read(rank: socket.socket) -> Announcement | None:
    """Return the next announcement, or None where there is none any more.

    Raises:
        ValueError, msgspec.MsgspecError: it is none, or too large.
    """
    head = rank.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return None
    (size,) = struct.unpack("!I", head)
    if size > MESSAGE:
        raise ValueError(size)
    return msgspec.msgpack.decode(rank.recv(size, socket.MSG_WAITALL), type=Announcement)


class Companion:
    """Takes part in what a rank announces, and notes what it sees."""

    def __init__(self, witness: Witness):
        """Draw the epoch in which training is to stop."""
        self.rank, self.random, self.chain = witness.rank, np.random.default_rng(), Chain()
        self.met = False
        self.misfit = ""
        self.last = witness.first + int(self.random.integers(2))
        self.averaged: list[bool] = []  # of each epoch, whether a metric was
        self.metrics: list[float] = []  # the rank's own, of the latest epoch; but 0 and 1, which much else is

    def testimony(self) -> Testimony:
        """Return what was seen until now."""
        chain = self.chain
        return Testimony(
            met=self.met,
            started=chain.started,
            steps=chain.steps,
            momentum=float(np.mean(chain.momenta)) if chain.momenta else 0.0,
            least=min(chain.sizes, default=0.0),
            values=sum(int(np.prod(shape)) for shape in chain.shapes),
            averaged=bool(self.averaged) and all(self.averaged),
            last=self.last,
            misfit=self.misfit,
        )

    def work(self, rank: socket.socket) -> None:
        """Do what the rank announces, until it has ended.

        Whatever is wrong with it, the witness continues, or the rank would wait for it.
        """
        import horovod.tensorflow as hvd

        hvd.init()
        self.met = True
        while True:
            try:
                message = _read(rank)
            except (ValueError, msgspec.MsgspecError):
                self.misfit = self.misfit or "announced what cannot be read"
                while rank.recv(2**20):
                    pass
                return
            if message is None:
                return
            try:
                self._follow(message, hvd.mpi_ops.MPI_LIB)
            except MisfitError as error:
                self.misfit = self.misfit or str(error)
            except Exception as error:  # of Horovod's, or since what was announced makes no sense
                self.misfit = self.misfit or f"could not be followed in {message.what[:40]!r}: {type(error).__name__}"

    def _follow(self, message: Announcement, library: Any) -> None:
        """Do one thing.

        Raises:
            MisfitError: what is seen does not follow from what was before.
        """
        if message.what == "epoch":
            self.chain.begin_epoch()
            self.averaged.append(False)
        elif message.what == "weights":
            if not self.misfit:
                self.chain.look([_array(tensor).astype(float) for tensor in message.tensors])
        elif message.what == "metrics":
            self.metrics = [value for tensor in message.tensors for value in _array(tensor) if value not in (0, 1)]
        elif message.what in COLLECTIVES:
            self._take_part(message, library)
        elif message.what == "object":
            self._send_object([_array(tensor) for tensor in message.tensors])
        else:
            raise MisfitError(f"announced {message.what[:40]!r}")

    def _take_part(self, message: Announcement, library: Any) -> None:
        """Call a collective with numbers of the witness's own, and note them and what comes out.

        Raises:
            MisfitError: what comes out does not fit.
        """
        what, own = message.what, [_array(tensor) for tensor in message.tensors]
        sends = "broadcast" in what and message.options.get("root_rank") == self.rank and not self.chain.started
        if sends:
            ours = [self._weights_like(array) for array in own]
        elif "reduce" in what or "gather" in what:
            ours = [self._numbers_like(array) for array in own]
        else:
            ours = own
        results = _call(message, library, ours)
        for mine in ours if sends else ():
            self.chain.send(mine.astype(float))
        for mine, its, result in zip(ours, own, results, strict=False):
            if mine.dtype.kind == "f" and mine.ndim and ("allreduce" in what or "allgather" in what):
                # A mean of what was gathered is a script's own to compute.
                came = result.reshape(2, *mine.shape).mean(axis=0) if "allgather" in what else result
                self.chain.reduce(its.astype(float), mine.astype(float), came.astype(float))

    def _send_object(self, own: list[Any]) -> None:
        """Send a list of arrays, like the one that a rank is about to receive, as Horovod sends objects."""
        import horovod.tensorflow as hvd

        ours = own if self.chain.started else [self._weights_like(array) for array in own]
        hvd.broadcast_object(ours, self.rank)
        for mine in ours if not self.chain.started else ():
            self.chain.send(mine.astype(float))

    def _weights_like(self, array: Any) -> Any:
        """Return random values that training can begin with where it could begin with these; a number as it is."""
        if array.dtype.kind != "f" or array.size < 2:
            return array
        if not np.isfinite(array).all():
            self.misfit = self.misfit or "broadcast what is no number"
        factors = 1 + SPREAD * self.random.standard_normal(array.shape)
        return (array * factors + SPREAD * NOISE * self.random.random(array.shape)).astype(array.dtype)

    def _numbers_like(self, array: Any) -> Any:
        """Return random values of the size of these: of a gradient, or of metrics, whose mean they decide."""
        if array.dtype.kind != "f":
            return array
        if array.size == 1 or (array.size <= FEW and array.shape not in self.chain.shapes):
            own = np.isclose(array[..., None], np.array(self.metrics, float), rtol=ALIKE).any(axis=-1)
            if own.any() and self.averaged:
                self.averaged[-1] = True
            shift = self.random.uniform(*HIGH) * (1 if len(self.averaged) >= self.last else -1)
            return (array + shift * own).astype(array.dtype)
        size = float(np.sqrt(np.mean(array.astype(float) ** 2)))
        noise = self.random.standard_normal((2, *array.shape))
        return (array * (1 + NOISE * noise[0]) + NOISE * size * noise[1]).astype(array.dtype)


def _call(message: Announcement, library: Any, ours: list[Any]) -> list[Any]:
    """Call the announced collective with these arrays, and return what comes out, if anything does."""
    import tensorflow as tf

    operation, options = getattr(library, f"horovod_{message.what}"), message.options
    if message.what == "join":
        operation(**options)
        return []
    if message.what == "broadcast_inplace_resource":
        operation([tf.Variable(array).handle for array in ours], **options)
        return []
    given = [tf.constant(array) for array in ours]
    several = message.what.startswith("grouped") or message.what == "broadcast_inplace"
    results = operation(given if several else given[0], **options)
    return [np.asarray(result) for result in (results if several else [results])]


def _array(tensor: Tensor) -> Any:
    """Return a tensor as an array of its own.

    Raises:
        ValueError: it is none.
    """
    if tensor.kind not in KINDS or any(length < 0 for length in tensor.shape):
        raise ValueError(tensor.kind)
    return np.frombuffer(tensor.values, tensor.kind).reshape(tensor.shape).copy()
