"""Simulated hosts: lay out the ranks of one machine as if they were on several hosts.

The ranks get the environment variables that Horovod's own launcher sets. They communicate by Gloo, over the loopback
interface only, and find each other through a rendezvous server.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import NamedTuple

ADDRESS = "127.0.0.1"


class Slot(NamedTuple):
    """Where a rank is, by the names of Horovod's SlotInfo."""

    hostname: str
    rank: int
    local_rank: int
    cross_rank: int
    size: int
    local_size: int
    cross_size: int


def slot(rank: int, hosts: int, slots: int, on_last: int | None = None) -> Slot:
    """Return where a rank is; ranks fill the slots of one host after the other.

    Args:
        rank: its number.
        hosts: the number of hosts.
        slots: ranks per host.
        on_last: ranks on the last host, where they are fewer.
    """
    on_last = on_last or slots
    host, local_rank = divmod(rank, slots)
    local_size = on_last if host == hosts - 1 else slots
    cross_size = hosts if local_rank < on_last else hosts - 1
    return Slot(f"host-{host}", rank, local_rank, host, (hosts - 1) * slots + on_last, local_size, cross_size)


def variables(own: Slot, port: int | str) -> dict[str, str]:
    """Return the environment variables of a rank; to be set before Horovod is initialised.

    Args:
        own: where the rank is.
        port: of the rendezvous server.
    """
    return {
        **{f"HOROVOD_{name.upper()}": str(value) for name, value in own._asdict().items()},
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_IFACE": "lo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": ADDRESS,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
    }


def serve(hosts: int, slots: int, on_last: int | None = None) -> HTTPServer:
    """Start a rendezvous server for one run of these ranks, and return it; server_port is its port.

    It runs in threads, so fork before you call this. shutdown() and server_close() end it. Its arguments are
    those of slot().
    """
    from horovod.runner.common.util.hosts import SlotInfo
    from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

    # Not Horovod's RendezvousServer, which listens on all of the machine's addresses and never closes its socket.
    server = RendezvousHTTPServer((ADDRESS, 0), RendezvousHandler, verbose=0)
    size = slot(0, hosts, slots, on_last).size
    server.init([SlotInfo(*slot(rank, hosts, slots, on_last)) for rank in range(size)])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@contextmanager
def rendezvous(hosts: int, slots: int) -> Iterator[int]:
    """Run a rendezvous server, as serve() starts it, while the block runs, and yield its port."""
    server = serve(hosts, slots)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
