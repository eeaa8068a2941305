"""A training whose computation is a pause, and whose gradients are exchanged for real.

    mpirun -np 4 --oversubscribe python training.py --megabytes 4 --compute 0.3

A GPU leaves the processor alone while it computes, and so does a pause. So this training shows what the network costs,
on any machine. Rank 0 prints the seconds of each step.
"""

import argparse
import queue
import threading
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
from mpi4py import MPI

RING = Path(__file__).parents[1] / "allreduce" / "allreduce.py"


def parse_arguments():
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=4, help="of all gradients")
    parser.add_argument("--compute", type=float, default=0.3, help="seconds of computation in a step")
    parser.add_argument("--layers", type=int, default=8, help="in which the gradients are, in equal parts")
    parser.add_argument("--spread", type=float, default=0, help="by how much the computation varies: 0.2 is up to 20%%")
    parser.add_argument("--no-overlap", action="store_true", help="exchange the gradients after all are computed")
    parser.add_argument("--steps", type=int, default=4)
    return parser.parse_args()


def load(path):
    """Return a Python file as a module."""
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def train_step(comm, allreduce, gradients, compute, overlap):
    """Compute and exchange the gradients of one step.

    A thread exchanges them, as in Horovod, one layer after another, while the layers before are still computed.
    """
    ready = queue.SimpleQueue()

    def exchange():
        for _ in gradients:
            gradient = ready.get()
            allreduce(comm, gradient, out=gradient)

    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    time.sleep(compute / 3)  # the forward pass
    for gradient in gradients:  # the backward pass takes about twice as long
        time.sleep(compute * 2 / 3 / len(gradients))
        if overlap:
            ready.put(gradient)
    if not overlap:
        for gradient in gradients:
            ready.put(gradient)
    exchanging.join()


def main():
    """Be a rank."""
    args = parse_arguments()
    comm, allreduce = MPI.COMM_WORLD, load(RING).allreduce
    gradients = np.array_split(np.ones(int(args.megabytes * 1e6) // 4, "float32"), args.layers)
    chance = np.random.default_rng(comm.rank)
    for step in range(args.steps + 1):
        compute = args.compute * (1 + args.spread * chance.uniform(-1, 1))
        comm.Barrier()
        began = time.perf_counter()
        train_step(comm, allreduce, gradients, compute, overlap=not args.no_overlap)
        seconds = max(comm.allgather(time.perf_counter() - began))
        if comm.rank == 0 and step > 0:  # connections are made in the first step
            print(f"step {step}: {seconds:.3f} s", flush=True)


if __name__ == "__main__":
    main()
