"""Simulated hosts: ranks of one machine laid out as on several, by the variables that Horovod's own launcher sets.

Such ranks talk by Gloo, over the loopback alone, and find each other by a rendezvous server.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

ADDRESS = "127.0.0.1"


def variables(rank: int, hosts: int, slots: int, port: int | str) -> dict[str, str]:
    """Return the environment that tells a rank who and where it is; to be set before Horovod is initialised.

    Args:
        rank: its number; ranks fill the slots of one host after the other.
        hosts: how many hosts there are.
        slots: how many ranks each of them has.
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


def serve(hosts: int, slots: int):
    """Start a rendezvous server for one run of these ranks, and return it: an HTTP server with a server_port.

    It runs in threads, so a process that is still to fork does so before. shutdown() and server_close() end it.
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
    """Serve as serve() does for as long as the block runs, which is given the port."""
    server = serve(hosts, slots)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
