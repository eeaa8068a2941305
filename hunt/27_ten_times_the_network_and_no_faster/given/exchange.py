"""Sum an array of 10 MB over all ranks again and again, and print how long it takes."""

import time

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
array, total = np.ones(2_500_000, "float32"), np.empty(2_500_000, "float32")
for number in range(1, 6):
    comm.Barrier()
    began = time.perf_counter()
    comm.Allreduce(array, total)
    if comm.rank == 0:
        print(f"exchange {number}: 10 MB in {1000 * (time.perf_counter() - began):.0f} ms", flush=True)
