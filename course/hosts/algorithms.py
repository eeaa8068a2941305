"""Measure algorithms for an allreduce between hosts: their time, and the messages and bytes of each rank.

    with hosts.up(4, slots=1, rate="100mbit") as cluster:
        timings = algorithms.measure(cluster, sizes=[1000, 1_000_000])

This file is also the program of the ranks: python -m course.hosts.algorithms ARGUMENTS, those of main() as JSON
"""

import importlib.util
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.hosts.cluster import Cluster
from course.hosts.layout import DATA
from course.hosts.ranks import run
from course.internal.monitoring import OPTIONS
from course.steps import SOLUTIONS

RING = SOLUTIONS / "allreduce" / "allreduce.py"
OTHERS = SOLUTIONS / "allreduce" / "algorithms.py"
NAMES = "gather_and_broadcast", "tree", "recursive_doubling"  # functions in OTHERS
OPEN_MPI, HOROVOD = "Open MPI", "Horovod"
LIBRARIES = OPEN_MPI, HOROVOD
ALL = (*NAMES, "ring", OPEN_MPI)
SECONDS = 0.6  # that are measured of each algorithm and size
FEWEST, MOST = 3, 150  # allreduces that are measured, after one that is not


@dataclass(frozen=True)
class Timing:
    """What one allreduce costs.

    Attributes:
        algorithm: its name, or that of the library.
        ranks: their number.
        size: of the array, in bytes.
        seconds: until all ranks have the sum. It is the fastest of several, since others may share the cores with
            other programs.
        received: bytes that each rank's host has received through its data interface, as the kernel counts them.
        messages: that each rank has sent, as Open MPI counts them; those inside of its own collectives do not count.
    """

    algorithm: str
    ranks: int
    size: int
    seconds: float
    received: list[float]
    messages: list[float]


def measure(
    cluster: Cluster,
    sizes: Sequence[int],
    *,
    ranks: int | None = None,
    chosen: Sequence[str] = ALL,
    ring: str | Path = RING,
    options: Sequence[str] = (),
) -> list[Timing]:
    """Return what allreduces cost with one rank on each host of a cluster.

    Args:
        cluster: the hosts.
        sizes: of arrays of float32, in bytes; each a multiple of 4.
        ranks: how many hosts have one, from the first one on; None: all. Recursive doubling needs 2, 4 or 8.
        chosen: the algorithms: of NAMES and LIBRARIES, and "ring". Horovod's import takes some seconds on each host.
        ring: a file with the function allreduce, for "ring".
        options: of mpirun.

    Raises:
        HostsError: the ranks failed, and the message has their output; or they did not end.
    """
    arguments = json.dumps({"sizes": list(sizes), "algorithms": list(chosen), "ring": str(Path(ring).resolve())})
    program = [sys.executable, "-m", "course.hosts.algorithms", arguments]
    found = run(cluster, cluster.hosts[:ranks], program, what="The allreduces", options=[*OPTIONS, *options])
    return [Timing(**each) for each in found]


def load(path: str | Path) -> Any:
    """Return a Python file as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(sizes: list[int], algorithms: list[str], ring: str) -> None:
    """Run the allreduces on this rank; rank 0 prints a list of Timings as JSON."""
    import numpy as np
    from mpi4py import MPI

    from course.internal.monitoring import Monitoring

    world, monitoring = MPI.COMM_WORLD, Monitoring()
    found = []
    for algorithm in algorithms:
        allreduce = _function(algorithm, ring)
        for size in sizes:
            array = np.full(size // 4, 1.0, "float32")
            first, total = _once(world, allreduce, array)
            if not isinstance(total, np.ndarray) or not (total == world.size).all():
                raise SystemExit(f"{algorithm} does not return the sum of the arrays.")
            times = int(min(MOST, max(FEWEST, SECONDS / first)))
            received, (messages, _) = _received(), monitoring.sent()
            seconds = min(_once(world, allreduce, array)[0] for _ in range(times))
            rows = world.gather(((_received() - received) / times, (monitoring.sent()[0] - messages) / times))
            if rows:  # on rank 0
                by_rank = {"received": [row[0] for row in rows], "messages": [row[1] for row in rows]}
                measured = {"algorithm": algorithm, "ranks": world.size, "size": size, "seconds": seconds}
                found.append(measured | by_rank)
    if world.rank == 0:
        print(json.dumps(found), flush=True)


def _function(algorithm: str, ring: str) -> Callable[[Any, Any], Any]:
    """Return a function of a communicator and an array that returns the sum."""
    if algorithm == OPEN_MPI:
        return _mpi
    if algorithm == HOROVOD:
        import horovod.tensorflow as hvd

        hvd.init()
        return lambda comm, array: hvd.allreduce(array, op=hvd.Sum, name=f"array of {len(array)}").numpy()
    module, name = (ring, "allreduce") if algorithm == "ring" else (OTHERS, algorithm)
    function: Callable[[Any, Any], Any] = getattr(load(module), name)
    return function


def _mpi(comm: Any, array: Any) -> Any:
    total = array.copy()
    comm.Allreduce(array, total)
    return total


def _once(comm: Any, allreduce: Callable[[Any, Any], Any], array: Any) -> tuple[float, Any]:
    """Return the seconds until the last rank has the sum, when all ranks begin together, and the sum."""
    comm.Barrier()
    began = time.perf_counter()
    total = allreduce(comm, array)
    return max(comm.allgather(time.perf_counter() - began)), total


def _received() -> int:
    """Return the bytes that this host has received through its data interface."""
    return int(Path("/sys/class/net", DATA.interface, "statistics/rx_bytes").read_text())


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
