"""Hosts on this machine: a cluster made of Linux namespaces, as an ordinary user or as root.

    with hosts.up(2, slots=2, rate="1gbit") as cluster:
        cluster.run(["ssh", "node1", "hostname"])
        cluster.pull_cable("node2")

Each host has a name, a loopback, an interface to a data network of a chosen speed, one to a slower management
network, a process table, a small disk at /scratch, and /shared, which all see. The machine's other files are the same
on all hosts. layout.py has the names and addresses, keeper.py says how everything ends.
"""

from course.hosts.cluster import Cluster, HostsError, forbidden, up

__all__ = ["Cluster", "HostsError", "forbidden", "up"]
