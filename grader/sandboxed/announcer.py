"""Tell a witness what a rank is about to do, over a socket: see grader.witness.rank."""

import socket
import struct
import threading
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from tensorflow.python.ops import gen_resource_variable_ops

from grader.facts import Announcement, Tensor


class Announcer:
    """Announces what a rank does; silent where there is no witness."""

    def __init__(self, link: int | None):
        """Announce by this socket, if there is one."""
        self.socket = None if link is None else socket.socket(fileno=link)
        self.sending = threading.Lock()
        self.silent = False  # about collectives: the object that they belong to is announced

    def collective(self, kind: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Announce a collective with the arguments of Horovod's operation."""
        if self.socket and not self.silent:
            first = arguments[0] if arguments else []
            several = first if isinstance(first, list | tuple) else [first]
            self._send(Announcement(kind, [_tensor(tensor) for tensor in several], options))

    def object(self, value: Any) -> bool:
        """Announce an object that is about to be received, and return whether a witness can send one like it."""
        if not (self.socket and isinstance(value, list) and value):
            return False
        if not all(isinstance(part, np.ndarray) for part in value):
            return False
        self._send(Announcement("object", [_tensor(part) for part in value]))
        return True

    def epoch(self) -> None:
        """Announce that an epoch begins."""
        if self.socket:
            self._send(Announcement("epoch"))

    def metrics(self, metrics: Iterable[float]) -> None:
        """Announce the rank's own metrics, before anything averages them."""
        if self.socket:
            self._send(Announcement("metrics", [_tensor(np.array(list(metrics), float))]))

    def weights(self, weights: Iterable[Any]) -> None:
        """Announce the trainable weights."""
        if self.socket:
            self._send(Announcement("weights", [_tensor(weight) for weight in weights]))

    def _send(self, announcement: Announcement) -> None:
        assert self.socket
        message = msgspec.msgpack.encode(announcement)
        with self.sending:
            self.socket.sendall(struct.pack("!I", len(message)) + message)


def _tensor(value: Any) -> Tensor:
    if getattr(value, "dtype", None) == "resource":
        kind = value._handle_data.shape_and_type[0].dtype
        value = gen_resource_variable_ops.read_variable_op(value, kind)
    array = np.asarray(value)
    return Tensor(array.dtype.name, array.shape, array.tobytes())
