"""Sum an array over all ranks, four times per second, and print the number of the step."""

import time

import numpy as np
from mpi4py import MPI

array = np.ones(100_000, "float32")
for step in range(1, 1001):
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, array)
    array /= MPI.COMM_WORLD.size
    if MPI.COMM_WORLD.rank == 0:
        print(f"step {step}", flush=True)
    time.sleep(0.25)
