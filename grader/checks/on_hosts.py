"""What is judged alike in all scripts that run on several hosts: how they end, and what their ranks are given."""

from collections import Counter
from collections.abc import Sequence

from grader.checks import ending
from grader.terms.clusters import Watched
from grader.terms.findings import Finding
from grader.terms.report import Outcome
from grader.terms.runs import Facts, Rank, Runs
from grader.terms.watched_facts import SeenRank

DATA, MANAGEMENT = "eth0", "eth1"  # interfaces
MPIRUN = "mpirun", "mpiexec", "prterun", "srun"
LAST = 300  # characters of what a script printed last


def cluster(watcher: str, name: str, description: str, hosts: int, reserved: bool = True) -> Watched:
    """Return a cluster of so many hosts, on which a module of grader.watchers watches the script."""
    return Watched(name, description, hosts, 1, 0, reserved=reserved, watcher=watcher)


def of(runs: Runs[Facts], where: Watched) -> Rank[Facts]:
    """Return the script as it ran on a cluster."""
    return (runs.clusters | runs.reserved)[where.name][0]


def invalid(syntax: str, step: int) -> Outcome | None:
    """Return the outcome for what bash says of a script before it runs, if it says anything."""
    if not syntax:
        return None
    line = syntax.partition("line ")[2].partition(":")[0]
    message = f"The script is not valid bash: {syntax.splitlines()[0]}"
    return ending.outcome("failed", step, message, int(line) if line.isdecimal() else None)


def said(ran: Rank[Facts]) -> str:
    """Return what a script printed last, as a sentence."""
    return f" It printed last: {ran.stdout.strip()[-LAST:]}" if ran.stdout.strip() else ""


def other_arguments(ranks: Sequence[SeenRank], wanted: Sequence[SeenRank], line: int | None) -> Finding | None:
    """Return a Finding where a rank has other arguments than those that the solution starts."""
    expected = wanted[0].arguments
    for rank in ranks:
        if rank.arguments != expected:
            message = f"A rank on {rank.host} has the arguments {rank.arguments}. Expected: {expected}."
            return Finding(seen=message, line=line)
    return None


def other_network(
    received: dict[str, int], sent: int, networks: tuple[str, str], most: float, kind: str, where: str
) -> str | None:
    """Return where tensors travelled, as a sentence, if not over the network that they should.

    Args:
        received: bytes, by interface.
        sent: bytes of the solution's tensors.
        networks: the interface that DATA_NETWORK names, and the other one.
        most: of the bytes sent, what may travel over the other one.
        kind: what the hosts are called.
        where: the cluster.
    """
    right, wrong = networks
    if received.get(right, 0) >= sent / 2 and received.get(wrong, 0) <= most * sent:
        return None
    kilobytes = {name: received.get(name, 0) // 1000 for name in networks}
    return (
        f"The {kind}s received {kilobytes[wrong]} kB through {wrong}, and {kilobytes[right]} kB through {right}, whose "
        f"network DATA_NETWORK names ({where}). Expected: tensors through {right}."
    )


def not_staged(ranks: Sequence[SeenRank], kind: str, line: int | None) -> Finding | None:
    """Return a Finding where DATA points a rank to anything but a copy on the disk of its own host, of that kind."""
    for rank in ranks:
        if rank.copied != "own":
            place = f"the folder '{rank.data}'" if rank.data else "no folder"
            why = (
                f", which all {kind}s share"
                if rank.copied == "shared"
                else ", where the data are not" * bool(rank.data)
            )
            message = f"A rank on {rank.host} is pointed to {place} by DATA{why}. Expected: a copy of all data on the "
            return Finding(seen=f"{message}{kind}'s own disk, /scratch.", line=line)
    return None


def listed(counts: Counter[str]) -> str:
    """Return how many there are on each host."""
    return ", ".join(f"{number} on {host}" for host, number in sorted(counts.items())) or "none"
