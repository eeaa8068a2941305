"""The networks between hosts: a switch for each, and cables of a chosen speed.

A switch is a Linux bridge in the keeper's network namespace. A cable is a veth pair: one end is an interface of the
host, the other a port of the switch. Both ends send at the cable's rate, so that it limits both directions.
"""

import contextlib
import os
import socket
from collections.abc import Iterator

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from course.hosts.layout import DATA, NETWORKS, PREFIX, Network
from course.internal import namespaces

BURST = 128 * 1024  # bytes sent at once: a packet is up to 64 KiB before it is segmented
QUEUE = 0.1  # seconds of traffic that a cable's end holds back before it drops


def make_switches() -> None:
    """Make the switch of each network in this process's network namespace."""
    with _netlink() as ip:
        for network in NETWORKS:
            ip.link("add", ifname=network.name, kind="bridge")
            ip.link("set", index=_index(network.name), state="up")


def new_namespace() -> int:
    """Make a network namespace whose loopback is up, and return a file descriptor that refers to it."""
    with _back():
        namespaces.unshare(namespaces.CLONE_NEWNET)
        with _netlink() as ip:
            ip.link("set", index=_index("lo"), state="up")
        return os.open("/proc/self/ns/net", os.O_RDONLY)


def connect(host: str, number: int, namespace: int, rates: dict[Network, int]) -> None:
    """Connect a host to the switch of each network.

    Args:
        host: its name.
        number: the last number of its addresses.
        namespace: a file descriptor of its network namespace.
        rates: of its cables, in bits per second.
    """
    for network, rate in rates.items():
        port = _port(host, network)
        with _netlink() as ip:
            peer = {"ifname": network.interface, "address": network.mac(number), "net_ns_fd": namespace}
            ip.link("add", ifname=port, kind="veth", peer=peer)
            ip.link("set", index=_index(port), master=_index(network.name), state="up")
        with inside(namespace), _netlink() as ip:
            interface = _index(network.interface)
            ip.addr("add", index=interface, address=network.address(number), prefixlen=PREFIX)
            ip.link("set", index=interface, state="up")
        set_rate(host, namespace, rate, network)


def set_rate(host: str, namespace: int, rate: int, network: Network = DATA) -> None:
    """Limit a host's cable to so many bits per second, in both directions."""
    _shape(_port(host, network), rate)
    with inside(namespace):
        _shape(network.interface, rate)


def set_plugged(host: str, plugged: bool, network: Network = DATA) -> None:
    """Plug a host's cable in, or pull it: its interface then has no carrier."""
    with _netlink() as ip:
        ip.link("set", index=_index(_port(host, network)), state="up" if plugged else "down")


def disconnect(host: str) -> None:
    """Remove a host's cables. Removing one end of a cable removes both."""
    with _netlink() as ip:
        for network in NETWORKS:
            ip.link("del", index=_index(_port(host, network)))


@contextlib.contextmanager
def inside(namespace: int) -> Iterator[None]:
    """Have this process in a network namespace while the block runs: sockets made there stay there."""
    with _back():
        namespaces.setns(namespace, namespaces.CLONE_NEWNET)
        yield


@contextlib.contextmanager
def _back() -> Iterator[None]:
    """Return to this process's network namespace when the block ends."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        yield
    finally:
        namespaces.setns(home, namespaces.CLONE_NEWNET)
        os.close(home)


def _shape(interface: str, rate: int) -> None:
    """Have an interface of this network namespace send at a rate, in bits per second."""
    in_bytes = rate // 8
    with _netlink() as ip:
        limit = BURST + int(in_bytes * QUEUE)
        ip.tc("replace", "tbf", index=_index(interface), rate=in_bytes, burst=BURST, limit=limit)


@contextlib.contextmanager
def _netlink() -> Iterator[IPRoute]:
    """Open the kernel's interface to this process's network namespace.

    Raises:
        OSError: the kernel refused something.
    """
    with IPRoute() as ip:
        try:
            yield ip
        except NetlinkError as error:
            reason = f"veth, bridge or sch_tbf: {os.strerror(error.code)}"  # modules that a small kernel may not have
            raise OSError(error.code, reason) from None


def _port(host: str, network: Network) -> str:
    """Return the name of the switch's end of a cable; the kernel takes 15 characters."""
    return f"{host}-{network.name}"[:15]


def _index(interface: str) -> int:
    return socket.if_nametoindex(interface)
