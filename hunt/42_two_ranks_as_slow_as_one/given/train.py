"""Compute as fast as the processor allows, on each rank, and print which cores the ranks may use."""

import json
import os
import time

import numpy as np
from mpi4py import MPI

SECONDS = 2
comm = MPI.COMM_WORLD
matrix = np.ones((200, 200), "float32") / 200
products, began = 0, time.monotonic()
comm.Barrier()
while time.monotonic() - began < SECONDS:
    matrix = matrix @ matrix
    products += 1
print(f"rank {comm.rank}: {products / SECONDS:.0f} steps/s, {time.process_time():.1f} s of a core", flush=True)
cores = comm.gather(os.sched_getaffinity(0))
if comm.rank == 0:
    together = len(set().union(*cores))
    print(json.dumps({"ranks": comm.size, "cores": together}), flush=True)
