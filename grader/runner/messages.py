"""Messages over a pipe: the length of each, as four bytes, and then the message as msgpack."""

import os
import struct
from collections.abc import Iterator

import msgspec

from grader.terms.job import Message

HEAD = struct.Struct("!I")
LARGEST = 64 * 2**20  # bytes of a message


class UnreadableError(Exception):
    """What came is no message, or is too large."""


def send(pipe: int, message: Message) -> None:
    """Write a message to a pipe."""
    body = msgspec.msgpack.encode(message)
    rest = memoryview(HEAD.pack(len(body)) + body)
    while rest:
        rest = rest[os.write(pipe, rest) :]


class Inbox:
    """Puts messages together from the pieces in which they come."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._text = bytearray()

    def add(self, piece: bytes) -> Iterator[Message]:
        """Add a piece, and yield each message that is complete.

        Raises:
            UnreadableError: see there.
        """
        self._text += piece
        while len(self._text) >= HEAD.size:
            (size,) = HEAD.unpack_from(self._text)
            if size > LARGEST:
                raise UnreadableError
            end = HEAD.size + size
            if len(self._text) < end:
                return
            body = bytes(self._text[HEAD.size : end])
            del self._text[:end]
            try:
                yield msgspec.msgpack.decode(body, type=Message)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                raise UnreadableError from None
