"""Simulated hosts: lay out the ranks of one machine as if they were on several hosts.

The ranks get the environment variables that Horovod's own launcher sets. They communicate by Gloo, over the loopback
interface only, and find each other through a rendezvous server.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer

ADDRESS = "127.0.0.1"


def variables(rank: int, hosts: int, slots: int, port: int | str) -> dict[str, str]:
    """Return the environment variables of a rank; to be set before Horovod is initialised.

    Args:
        rank: its number; ranks fill the slots of one host after the other.
        hosts: the number of hosts.
        slots: ranks per host.
        port: of the rendezvous server.
    """
    return {
        "HOROVOD_RANK": str(rank),
        "HOROVOD_SIZE": str(hosts * slots),
        "HOROVOD_LOCAL_RANK": str(rank % slots),
        "HOROVOD_LOCAL_SIZE": str(slots),
        "HOROVOD_CROSS_RANK": str(rank // slots),
        "HOROVOD_CROSS_SIZE": str(hosts),
        "HOROVOD_HOSTNAME": f"host-{rank // slots}",
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_IFACE": "lo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": ADDRESS,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
    }


def serve(hosts: int, slots: int) -> HTTPServer:
    """Start a rendezvous server for one run of these ranks, and return it; server_port is its port.

    It runs in threads, so fork before you call this. shutdown() and server_close() end it.

    Args:
        hosts: the number of hosts.
        slots: ranks per host.
    """
    from horovod.runner.common.util.hosts import SlotInfo
    from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

    # Not Horovod's RendezvousServer, which listens on all of the machine's addresses and never closes its socket.
    server = RendezvousHTTPServer((ADDRESS, 0), RendezvousHandler, verbose=0)
    server.init(
        [
            SlotInfo(f"host-{rank // slots}", rank, rank % slots, rank // slots, hosts * slots, slots, hosts)
            for rank in range(hosts * slots)
        ]
    )
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
