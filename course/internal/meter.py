"""Measure what this process's descendants use while they run: CPU time, and bytes received over TCP.

The numbers come from the kernel, several times per second. Bytes over the loopback interface count, so traffic between
processes of one machine is included. Shared memory and files are not.
"""

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
import psutil

EVERY = 0.05  # seconds between two readings

# The kernel's socket diagnostics, requests and answers: /usr/include/linux/sock_diag.h, inet_diag.h and tcp.h.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_INET_DIAG_INFO, _ALL_STATES = 2, 0xFFFFFFFF
_INODE_AT, _ATTRIBUTES_AT = 16 + 68, 16 + 72  # in a message, behind its header of 16 bytes
_BYTES_RECEIVED_AT = 128  # in struct tcp_info


class Meter:
    """Reads the usage of all descendants of this process, in a thread, while its block runs. A context manager."""

    def __init__(self) -> None:
        """Prepare to read; entering the block starts it."""
        self.times: list[float] = []  # of the readings, in seconds since 1970
        self.cpu_seconds: list[float] = []  # by all processes until then
        self.bytes_received: list[int] = []  # likewise
        self._processes: dict[int, float] = {}  # pid -> seconds of CPU, kept after the process has ended
        self._sockets: dict[int, int] = {}  # inode -> bytes, likewise
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read_until_over, daemon=True)

    def __enter__(self) -> Self:
        """Start to read."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Read a last time, and stop."""
        self._over.set()
        self._thread.join()

    def used(self, begin: float, end: float) -> tuple[float, float]:
        """Return the seconds of CPU and the bytes received between two times, which are in seconds since 1970."""
        cpu, received = (
            np.diff(np.interp([begin, end], self.times, readings)).item()
            for readings in (self.cpu_seconds, self.bytes_received)
        )
        return cpu, received

    def _read_until_over(self) -> None:
        while True:
            last = self._over.is_set()
            self._read()
            if last:
                return
            self._over.wait(EVERY)

    def _read(self) -> None:
        received, now = bytes_by_socket(), time.time()
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess, OSError):
                times = process.cpu_times()
                self._processes[process.pid] = times.user + times.system
                self._sockets |= {inode: received[inode] for inode in _sockets(process.pid) if inode in received}
        self.times.append(now)
        self.cpu_seconds.append(sum(self._processes.values()))
        self.bytes_received.append(sum(self._sockets.values()))


def _sockets(pid: int) -> set[int]:
    """Return the inodes of the sockets that a process has open."""
    found = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            target = os.readlink(descriptor)  # noqa: PTH115  Path.readlink() would make a path of "socket:[…]"
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    return found


def bytes_by_socket() -> dict[int, int]:
    """Return the bytes that each TCP socket of this machine has received, by inode, as `ss -tie` shows them."""
    found = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        for family in (socket.AF_INET, socket.AF_INET6):
            asked = struct.pack("=BBBBI48x", family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 0, _ALL_STATES)
            kernel.send(struct.pack("=IHHII", 16 + len(asked), _SOCK_DIAG_BY_FAMILY, _DUMP, 0, 0) + asked)
            for message in _messages(kernel):
                inode, received = _inode_and_bytes(message)
                found[inode] = received
    return found


def _messages(kernel: socket.socket) -> Iterator[bytes]:
    """Yield the kernel's answers, each a message with its header, until it reports their end."""
    while True:
        answer = kernel.recv(1 << 20)
        while answer:
            length, kind = struct.unpack_from("=IH", answer)
            if kind in (_DONE, _ERROR):
                return
            yield answer[:length]
            answer = answer[(length + 3) & ~3 :]


def _inode_and_bytes(message: bytes) -> tuple[int, int]:
    (inode,) = struct.unpack_from("=I", message, _INODE_AT)
    at = _ATTRIBUTES_AT
    while at < len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == _INET_DIAG_INFO and length >= 4 + _BYTES_RECEIVED_AT + 8:
            return inode, struct.unpack_from("=Q", message, at + 4 + _BYTES_RECEIVED_AT)[0]
        at += (length + 3) & ~3
    return inode, 0
