"""Train on several hosts: a pause stands for the computation, and the gradients are averaged over the network.

mpirun --host node1,node2,node3 --map-by ppr:1:node python train.py
"""

import itertools
import json
import platform
import re
import statistics
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI

STEPS, COMPUTE = 10, 0.04  # seconds
comm = MPI.COMM_WORLD
gradient = np.ones(250_000, "float32")


def exchange(one, other):
    """Return the seconds in which two ranks send each other 500 kB: the fastest of some times."""
    message, seconds = np.ones(125_000, "float32"), []
    for _ in range(5):
        comm.Barrier()
        if comm.rank in (one, other):
            began = time.monotonic()
            comm.Sendrecv(message, one + other - comm.rank, recvbuf=message.copy())
            seconds.append(time.monotonic() - began)
    return comm.bcast(min(seconds, default=None), one)


def sent():
    """Return the bytes that this host has sent through each of its interfaces, eth0 and eth1."""
    counted = Path("/proc/net/dev").read_text()
    return np.array([int(re.search(rf"{name}:(?:\s*\d+){{8}}\s*(\d+)", counted)[1]) for name in ("eth0", "eth1")])


before = sent()
for step in range(1, STEPS + 1):
    comm.Barrier()
    began = time.monotonic()
    time.sleep(COMPUTE)
    comm.Allreduce(MPI.IN_PLACE, gradient)
    gradient /= comm.size
    if comm.rank == 0:
        print(f"step {step}: {time.monotonic() - began:.2f} s", flush=True)
through = comm.reduce(sent() - before)

# A host is as fast as its fastest exchange with any other host.
fastest = [1e9] * comm.size
for one, other in itertools.combinations(range(comm.size), 2):
    seconds = exchange(one, other)
    fastest[one], fastest[other] = min(fastest[one], seconds), min(fastest[other], seconds)
hosts = comm.gather(platform.node())
if comm.rank == 0:
    print("hosts:", ", ".join(hosts))
    slowest = max(fastest) / statistics.median(fastest)
    result = {"ranks": comm.size, "hosts": len(set(hosts)), "slowest_to_median": round(slowest, 1)}
    print(json.dumps(result | {"share_of_eth0": round(float(through[0] / through.sum()), 2)}), flush=True)
