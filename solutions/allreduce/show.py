"""Sum a short array over all ranks by a function of a file, and print what each rank gets.

mpirun -np 3 python show.py FILE FUNCTION LENGTH

All elements of rank r are 10 to the power of r. So the digits of an element say how often each rank's value is in it,
rank 0's in the last digit.
"""

import importlib.util
import sys

import numpy as np
from mpi4py import MPI

path, name, length = sys.argv[1], sys.argv[2], int(sys.argv[3])
spec = importlib.util.spec_from_file_location("program", path)
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)

comm = MPI.COMM_WORLD
array = np.full(length, 10**comm.rank, "float32")
total = getattr(program, name)(comm, array)
shown = total.astype(int).tolist() if length <= 20 else f"{length} elements, the first one {int(total[0])}"
for rank in range(comm.size):  # one after another, in order
    comm.Barrier()
    if rank == comm.rank:
        print(f"rank {rank} has {shown}", flush=True)
