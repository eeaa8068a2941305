"""Run a program with one rank on each of some hosts, over one network."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from course.hosts.cluster import Cluster, HostsError
from course.hosts.layout import DATA, PREFIX, Network

LIMIT = 120  # seconds
# Options of mpirun, with which Open MPI's own allreduce is a ring for all sizes and numbers of ranks.
RING = [
    *("--mca", "coll", "^han"),
    *("--mca", "coll_tuned_use_dynamic_rules", "1"),
    *("--mca", "coll_tuned_allreduce_algorithm", "4"),
]


def run(
    cluster: Cluster,
    hosts: Sequence[str],
    program: Sequence[str],
    *,
    what: str,
    network: Network = DATA,
    options: Sequence[str] = (),
) -> Any:
    """Run a program on the ranks, and return what one of them prints as JSON, on a line of its own.

    Args:
        cluster: the hosts.
        hosts: those of them that have a rank each.
        program: the command of a rank.
        what: it does, as the beginning of a sentence: "The allreduces".
        network: the one that the ranks are restricted to.
        options: of mpirun.

    Raises:
        HostsError: the ranks failed or printed no such line, and the message has their output; or they did not end.
    """
    command = ["mpirun", "--host", ",".join(hosts), "--map-by", "ppr:1:node", *options]
    command += ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", f"{network.address(0)}/{PREFIX}", *program]
    try:
        done = cluster.run(command, timeout=LIMIT, say=lambda line: None)
    except subprocess.TimeoutExpired:
        raise HostsError(f"{what} over the {network.name} network did not end within {LIMIT} s.") from None
    found = [line for line in done.stdout.splitlines() if line.startswith(("{", "[{"))]
    if done.returncode or len(found) != 1:
        raise HostsError(f"{what} over the {network.name} network could not be measured:\n{done.stdout}")
    return json.loads(found[0])
