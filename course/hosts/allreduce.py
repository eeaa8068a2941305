"""Measure how long Horovod's allreduce takes between hosts, over a network of choice.

    with hosts.up(2, slots=1, rate="1gbit") as cluster:
        seconds = allreduce.measure(cluster, layout.DATA)

This file is also the program of the ranks: python -m course.hosts.allreduce MEGABYTES TIMES
"""

import json
import sys
import time

from course.hosts.cluster import Cluster
from course.hosts.layout import Network
from course.hosts.ranks import run

WARM_UP = 3  # allreduces that are not counted: Horovod negotiates a new tensor, and MPI connects


def measure(cluster: Cluster, network: Network, *, megabytes: int = 4, times: int = 10) -> list[float]:
    """Return the seconds that each of some allreduces takes, with one rank on every host that is up.

    Args:
        cluster: the hosts.
        network: the one that the ranks are restricted to.
        megabytes: the size of the tensor.
        times: how many allreduces to measure.

    Raises:
        HostsError: the ranks failed, and the message has their output; or they did not end.
    """
    hosts = [host for host in cluster.hosts if host in cluster.processes()]
    program = [sys.executable, "-m", "course.hosts.allreduce", str(megabytes), str(times)]
    return list(run(cluster, hosts, program, what="The allreduce", network=network)["seconds"])


def main(megabytes: int, times: int) -> None:
    """Run the allreduces on this rank; rank 0 prints the seconds of each as JSON."""
    import horovod.tensorflow as hvd  # takes seconds, and only the ranks need it
    import tensorflow as tf

    hvd.init()
    tensor = tf.ones(megabytes * 10**6 // 4)  # four bytes each
    seconds = []
    for _ in range(WARM_UP + times):
        hvd.allreduce(tf.zeros(1), name="start")  # all ranks begin together
        began = time.perf_counter()
        hvd.allreduce(tensor, name="tensor")
        seconds.append(time.perf_counter() - began)
    if hvd.rank() == 0:
        print(json.dumps({"seconds": seconds[WARM_UP:]}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
