"""A host: its first process, and what starts and ends with it.

The first process is the parent of all others of the host. The kernel ends them when it ends.
"""

import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import psutil

from course.hosts import filesystem, network, sshd
from course.hosts.layout import NETWORKS, Network
from course.internal import namespaces
from course.internal.namespaces import CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUTS

READY = "ready"


@dataclass
class Host:
    """A host as the keeper sees it.

    Attributes:
        name: its hostname.
        number: the last number of its addresses.
        namespace: a file descriptor of its network namespace; None while the host is down.
        parent: of its first process, in the keeper's process namespace.
        first: its first process, there.
        handle: a file descriptor that refers to its first process.
    """

    name: str
    number: int
    namespace: int | None = None
    parent: int = 0
    first: int = 0
    handle: int = 0

    @property
    def up(self) -> bool:
        """Whether the host has been booted and not killed since."""
        return self.namespace is not None

    def boot(self, rates: dict[Network, int], disk: str) -> None:
        """Connect the host and start its first process.

        Raises:
            OSError: the kernel does not permit it; the message says what.
        """
        self.namespace = network.new_namespace()
        network.connect(self.name, self.number, self.namespace, rates)
        reading, writing = os.pipe()
        self.parent = os.fork()
        if not self.parent:
            os.close(reading)
            _be_parent(self, disk, writing)
        os.close(writing)
        with os.fdopen(reading) as answers:
            answer = answers.readline().strip()
        if answer != READY:
            os.waitpid(self.parent, 0)
            raise OSError(answer or f"{self.name} did not start")
        self.first = psutil.Process(self.parent).children()[0].pid
        self.handle = os.pidfd_open(self.first)

    def set_rate(self, rate: int) -> None:
        """Change the rate of its cable to the data network, in bits per second."""
        assert self.namespace is not None
        network.set_rate(self.name, self.namespace, rate)

    def do(self, change: Callable[[], object]) -> None:
        """Call a function in a process that sees the host's file systems.

        Raises:
            OSError: it failed.
        """
        child = os.fork()
        if not child:
            try:
                namespaces.setns(self.handle, CLONE_NEWNS)
                change()
                os._exit(0)
            except OSError as error:
                os._exit(error.errno or 1)
        failed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if failed:
            raise OSError(failed, os.strerror(failed))

    def kill(self) -> None:
        """End all of its processes at once, and take its interfaces away."""
        assert self.namespace is not None
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        os.waitpid(self.parent, 0)
        network.disconnect(self.name)
        os.close(self.handle)
        os.close(self.namespace)
        self.namespace = None


def _be_parent(host: Host, disk: str, answers: int) -> NoReturn:
    """Start the first process in a process namespace of its own, and wait for its end."""
    try:
        namespaces.end_with_parent(signal.SIGKILL)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):  # the keeper's are its connection with the owner
            os.dup2(null, stream)
        namespaces.unshare(CLONE_NEWPID)
        first = os.fork()
        if not first:
            _be_first(host, disk, answers)
        os.close(answers)
        os.waitpid(first, 0)
    finally:
        os._exit(0)


def _be_first(host: Host, disk: str, answers: int) -> NoReturn:
    """Set the host up, start its ssh server, and wait for the processes that others leave behind."""
    try:
        namespaces.end_with_parent(signal.SIGKILL)
        assert host.namespace is not None
        namespaces.setns(host.namespace, CLONE_NEWNET)
        namespaces.unshare(CLONE_NEWUTS | CLONE_NEWIPC)
        socket.sethostname(host.name)
        filesystem.mount_own(disk)
        _disable_ipv6()
        sshd.start()
        os.write(answers, f"{READY}\n".encode())
        os.close(answers)
        while True:
            os.wait()
    except OSError as error:
        os.write(answers, f"{error.strerror or error}\n".encode())
    finally:
        os._exit(0)


def _disable_ipv6() -> None:
    """Leave one address to each interface, the one in /etc/hosts: the kernel adds one of IPv6."""
    for connected in NETWORKS:
        setting = Path(f"/proc/sys/net/ipv6/conf/{connected.interface}/disable_ipv6")
        if setting.exists():  # not every kernel has IPv6
            setting.write_text("1")
