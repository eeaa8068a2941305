"""Measure the steps of a training whose computation is a pause, and whose gradients are really exchanged between hosts.

    with hosts.up(8, slots=1, rate="100mbit") as cluster:
        seconds = step_time.measure(cluster, ranks=4, megabytes=4, compute=0.3)

A GPU leaves the processor alone while it computes, and so does a pause. So a few cores show what a network costs many
GPUs. This file is also the program of the ranks: python -m course.hosts.step_time ARGUMENTS, those of main() as JSON
"""

import json
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from course.hosts import algorithms
from course.hosts.algorithms import Timing
from course.hosts.cluster import Cluster
from course.hosts.ranks import RING, run

LAYERS = 8
# The backward pass is two thirds of the computation, and its first gradients, of the last layer, take an eighth of it.
OVERLAP = 2 / 3 * (1 - 1 / LAYERS)


def measure(
    cluster: Cluster,
    ranks: int,
    *,
    megabytes: float,
    compute: float,
    overlap: bool = True,
    spread: float = 0,
    steps: int = 4,
) -> list[float]:
    """Return the seconds of each step, after one that does not count.

    The fastest one shows what the hosts can do: others may share the cores with other programs, or lose packets.

    Args:
        cluster: its first hosts have a rank each.
        ranks: their number.
        megabytes: size of all gradients.
        compute: seconds of computation in a step.
        overlap: whether gradients are exchanged while others are computed.
        spread: by which share the computation varies from rank to rank and from step to step, at most.
        steps: that count.

    Raises:
        HostsError: the training failed, and the message has its output; or it did not end.
    """
    settings = {"megabytes": megabytes, "compute": compute, "overlap": overlap, "spread": spread, "steps": steps}
    program = [sys.executable, "-m", "course.hosts.step_time", json.dumps(settings)]
    return list(run(cluster, cluster.hosts[:ranks], program, what="The training", options=RING)["seconds"])


def allreduces(cluster: Cluster, sizes: Sequence[int], ranks: int = 3) -> list[Timing]:
    """Return what allreduces of these sizes cost on some hosts, over a ring of Open MPI's, as in the training.

    Args:
        cluster: its first hosts have a rank each.
        sizes: of the arrays, in bytes; each a multiple of 4.
        ranks: their number. Two are no ring: in some jobs, they send large messages one after another, and not at once.

    Raises:
        HostsError: as measure() does.
    """
    return algorithms.measure(cluster, sizes, ranks=ranks, chosen=[algorithms.OPEN_MPI], options=RING)


def train_step(allreduce: Callable[[Any], None], gradients: Sequence[Any], compute: float, overlap: bool) -> None:
    """Compute the gradients of a step, and sum them over all ranks.

    A thread exchanges them, as in Horovod: those of one layer, while those of the layers before it are still computed.
    """
    ready: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def exchange() -> None:
        for _ in gradients:
            allreduce(ready.get())

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


def main(megabytes: float, compute: float, overlap: bool, spread: float, steps: int) -> None:
    """Train on this rank; rank 0 prints the seconds of each step as JSON."""
    import numpy as np
    from mpi4py import MPI

    def allreduce(gradient: Any) -> None:
        comm.Allreduce(MPI.IN_PLACE, gradient)

    comm = MPI.COMM_WORLD
    gradients = np.array_split(np.ones(int(megabytes * 1e6) // 4, "float32"), LAYERS)
    chance = random.Random(comm.rank)
    seconds = []
    for _ in range(steps + 1):
        comm.Barrier()
        began = time.perf_counter()
        train_step(allreduce, gradients, compute * (1 + spread * chance.uniform(-1, 1)), overlap)
        seconds.append(max(comm.allgather(time.perf_counter() - began)))
    if comm.rank == 0:
        print(json.dumps({"seconds": seconds[1:]}), flush=True)  # connections are made in the first step


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
