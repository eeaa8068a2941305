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


def place(rank: int, slots: int, on_first: int | None = None) -> tuple[int, int]:
    """Return the number of a rank's host, and its local rank there. For the arguments see slot()."""
    left_out = slots - on_first if on_first and rank >= on_first else 0
    return divmod(rank + left_out, slots)


def slot(rank: int, hosts: int, slots: int, on_first: int | None = None) -> Slot:
    """Return where a rank is; ranks fill the slots of one host after the other.

    Args:
        rank: its number.
        hosts: the number of hosts.
        slots: ranks per host.
        on_first: ranks on the first host, where they are fewer.
    """
    on_first = on_first or slots
    host, local_rank = place(rank, slots, on_first)
    local_size = slots if host else on_first
    lacking = int(local_rank >= on_first)  # hosts that have no rank of this local rank
    return Slot(
        f"host-{host}", rank, local_rank, host - lacking, (hosts - 1) * slots + on_first, local_size, hosts - lacking
    )


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


def serve(hosts: int, slots: int, on_first: int | None = None) -> HTTPServer:
    """Start a rendezvous server for one run of these ranks, and return it; server_port is its port.

    It runs in threads, so fork before you call this. shutdown() and server_close() end it. Its arguments are
    those of slot().
    """
    from horovod.runner.common.util.hosts import SlotInfo
    from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

    # Not Horovod's RendezvousServer, which listens on all of the machine's addresses and never closes its socket.
    server = RendezvousHTTPServer((ADDRESS, 0), RendezvousHandler, verbose=0)
    size = slot(0, hosts, slots, on_first).size
    server.init([SlotInfo(*slot(rank, hosts, slots, on_first)) for rank in range(size)])
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
