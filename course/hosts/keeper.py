"""The keeper: a process that makes the hosts, changes them on request, and takes them with it when it ends.

    python -m course.hosts.keeper '{"slots": {"node1": 2, "node2": 2}, "rate": "1gbit", "disk": "64m"}'

It ends when standard input closes or its parent, the owner, has ended, and every process of every host ends with it:
see host.py. With the last process of a namespace, the kernel removes its interfaces, mounts and files.

Requests and answers are lines of JSON. The first answer comes without a request: {"first": {host: process}}, the
first process of each host. A request is {"do": fault, "host": name, ...}, and its answer is like the first one, or
{"error": message}.
"""

import errno
import json
import os
import select
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course.hosts import filesystem, network
from course.hosts.host import Host
from course.hosts.layout import DATA, MANAGEMENT, SCRATCH, SLOWER, bits_per_second, numbers
from course.internal import namespaces

FORBIDDEN = f"No hosts can be made here ({{why}}). They need user namespaces. {namespaces.PERMIT}"
FILLER = "full"  # the file that fills a disk
PIECE = 2**20  # bytes written at once


class Keeper:
    """The hosts, and the requests that can be made."""

    def __init__(self, slots: dict[str, int], rate: str, disk: str):
        """Make the networks and the file systems, and boot the hosts: the head, and those that have slots.

        Raises:
            OSError: the kernel does not permit it.
            ValueError: the rate is none.
        """
        bits = bits_per_second(rate)
        self.rates = {DATA: bits, MANAGEMENT: bits // SLOWER}
        self.disk = disk
        self.hosts = {name: Host(name, number) for name, number in numbers(slots).items()}
        if os.geteuid():
            namespaces.unshare_user()
            namespaces.forbid_users()  # in one more, programs on hosts would have rights over what they should not
        filesystem.make_root(slots)
        namespaces.unshare(namespaces.CLONE_NEWNET)
        network.make_switches()
        for host in self.hosts.values():
            host.boot(self.rates, disk)

    def first(self) -> dict[str, int]:
        """Return the first process of each host that is up."""
        return {host.name: host.first for host in self.hosts.values() if host.up}

    def pull_cable(self, host: Host) -> None:
        """Take the carrier from the host's interface to the data network."""
        network.set_plugged(host.name, False)

    def slow(self, host: Host, rate: str) -> None:
        """Change the rate of the host's cable to the data network."""
        host.set_rate(bits_per_second(rate))

    def fill_disk(self, host: Host) -> None:
        """Write to the host's disk until it is full."""
        with _filler(host).open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(PIECE))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def hide_shared(self, host: Host) -> None:
        """Mount an empty folder over /shared on the host."""
        host.do(filesystem.hide_shared)

    def kill(self, host: Host) -> None:
        """End all processes of the host at once. Its disk and its interfaces go with them."""
        host.kill()

    def revive(self, host: Host) -> None:
        """Boot the host if it is down; otherwise undo what was done to its cable, its disk and its shared folder."""
        if not host.up:
            host.boot(self.rates, self.disk)
            return
        network.set_plugged(host.name, True)
        host.set_rate(self.rates[DATA])
        _filler(host).unlink(missing_ok=True)
        host.do(filesystem.show_shared)

    def end(self) -> None:
        """End all processes of all hosts."""
        for host in self.hosts.values():
            if host.up:
                host.kill()


def _filler(host: Host) -> Path:
    return Path(f"/proc/{host.first}/root{SCRATCH}", FILLER)


def main(settings: str) -> None:
    """Make the hosts and serve requests, until the owner closes standard input or ends."""
    owner = os.pidfd_open(os.getppid())
    try:
        keeper = Keeper(**json.loads(settings))
    except OSError as error:
        _answer(error=FORBIDDEN.format(why=error.strerror or error))
        return
    except ValueError as error:
        _answer(error=str(error))
        return
    _answer(first=keeper.first())
    requests = (keeper.pull_cable, keeper.slow, keeper.fill_disk, keeper.hide_shared, keeper.kill, keeper.revive)
    by_name: dict[str, Callable[..., None]] = {request.__name__: request for request in requests}
    while owner not in select.select([owner, sys.stdin], [], [])[0]:
        line = sys.stdin.readline()
        if not line:
            break
        arguments = json.loads(line)
        request, host = by_name[arguments.pop("do")], keeper.hosts[arguments.pop("host")]
        try:
            request(host, **arguments)
            _answer(first=keeper.first())
        except (OSError, ValueError) as error:
            _answer(error=str(error))
    keeper.end()


def _answer(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
