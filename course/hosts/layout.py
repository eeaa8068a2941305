"""What the hosts are like: their names, networks, addresses and folders."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HEAD = "head"  # the host on which commands start; it has no slots

CLUSTER = Path("/cluster")  # for all hosts: programs for PATH, the hostfile, and /etc/hosts
SHARED = Path("/shared")  # for all hosts, as a network file system is
SCRATCH = Path("/scratch")  # of each host's own: a small disk that the others do not see
PROGRAMS, HOSTFILE, NAMES = CLUSTER / "bin", CLUSTER / "hostfile", CLUSTER / "hosts"

MOST = 200  # hosts
NAME = r"[a-z][a-z0-9]{0,12}"  # of a host: the kernel takes 15 characters for that of a cable's end

_UNITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}


@dataclass(frozen=True)
class Network:
    """One network: its name, the hosts' interface to it, and the first three numbers of their addresses."""

    name: str
    interface: str
    subnet: str

    def address(self, number: int) -> str:
        """Return the address of a host by its number."""
        return f"{self.subnet}.{number}"

    def mac(self, number: int) -> str:
        """Return the Ethernet address of a host by its number: the same after each boot, as others remember it."""
        return "02:00:" + ":".join(f"{int(part):02x}" for part in self.address(number).split("."))


DATA = Network("data", "eth0", "10.77.0")
MANAGEMENT = Network("management", "eth1", "10.78.0")
NETWORKS = (DATA, MANAGEMENT)
PREFIX = 24  # bits of an address that stand for the network
SLOWER = 10  # times: the management network, compared with the data network


def numbers(hosts: Iterable[str]) -> dict[str, int]:
    """Return the names of the head and of these hosts, with the last number of their addresses."""
    return {HEAD: 254} | {name: number for number, name in enumerate(hosts, 1)}


def bits_per_second(rate: str) -> int:
    """Return a rate such as "1gbit", "100mbit" or "500kbit" in bits per second.

    Raises:
        ValueError: it is not a rate.
    """
    parts = re.fullmatch(r"([1-9]\d*)(kbit|mbit|gbit)", rate)
    if not parts:
        raise ValueError(f"'{rate}' is not a rate. Write it like 10gbit, 100mbit or 500kbit.")
    return int(parts[1]) * _UNITS[parts[2]]
