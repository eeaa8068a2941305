"""What is judged alike in all scripts that run on several hosts: how they end, and what their ranks are given."""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from grader.checks import ending
from grader.terms.clusters import Watched
from grader.terms.findings import Finding, Untold, listed
from grader.terms.report import Outcome
from grader.terms.runs import Facts, Rank, Runs
from grader.terms.watched_facts import JobFacts, LaunchFacts, ScriptFacts

Started = TypeVar("Started", LaunchFacts, JobFacts)

DATA, MANAGEMENT = "eth0", "eth1"  # interfaces
MPIRUN = "mpirun", "mpiexec", "prterun", "srun"
ASTRAY = 1 / 4  # of the bytes of all tensors: what may travel over another network. MPI by itself uses all networks.
LAST = 300  # characters of what a script printed last


def cluster(watcher: str, name: str, description: str, hosts: int, reserved: bool = True) -> Watched:
    """Return a cluster of so many hosts, on which a module of grader.watchers watches the script."""
    return Watched(name, description, hosts, 1, 0, reserved=reserved, watcher=watcher)


def of(runs: Runs[Facts], where: Watched) -> Rank[Facts]:
    """Return the script as it ran on a cluster."""
    return (runs.clusters | runs.reserved)[where.name][0]


def ends(failure: Callable[[Runs[Facts]], Finding | None]) -> Callable[[Runs[Facts], int, float, str], Outcome]:
    """Return what a Part needs to say how a script ended, by a function that says why it failed, if so."""

    def ended(runs: Runs[Facts], step: int, seconds: float, script: str) -> Outcome:
        found = failure(runs)
        if found is None:
            return ending.outcome("passed", step, "Correct.")
        return ending.outcome("failed", step, found.message, found.line)

    return ended


def invalid(facts: ScriptFacts) -> Finding | None:
    """Return a Finding with what bash says of a script before it runs, if it says anything."""
    if not facts.syntax:
        return None
    line = facts.syntax.partition("line ")[2].partition(":")[0]
    return Finding(
        seen=f"The script is not valid bash: {facts.syntax.splitlines()[0]}",
        expected="`bash -n` prints nothing",
        line=int(line) if line.isdecimal() else None,
    )


def printed(ran: Rank[Facts]) -> str:
    """Return what a script printed last, as a hint."""
    return f"It printed last: {ran.stdout.strip()[-LAST:]}" if ran.stdout.strip() else ""


def unseen(ran: Rank[Started]) -> Finding | None:
    """Return why there is nothing to see, where not all ranks of the first run have exchanged data."""
    return None if ran.facts.first.met else Untold(seen=f"the ranks never exchanged data ({ran.cluster})")


def wrong_ranks(ran: Rank[Started], right: Rank[Started]) -> Finding | None:
    """Return a Finding where other ranks are started than by the solution, or no single job of them."""
    run = ran.facts.first
    if not run.ranks:
        return Untold(seen=f"no rank was started ({ran.cluster})")
    found, wanted = (Counter(rank.host for rank in each.facts.first.ranks) for each in (ran, right))
    if found != wanted:
        seen = f"Ranks were started on these hosts ({ran.cluster}): {per_host(found)}"
        return Finding(seen=seen, expected=per_host(wanted))
    if not run.met:
        seen = f"{len(run.ranks)} ranks were started, and never exchanged data with each other ({ran.cluster})"
        return Finding(seen=seen, expected="one job of all ranks")
    return None


def other_arguments(ran: Rank[Started], right: Rank[Started]) -> Finding | None:
    """Return a Finding where a rank has other arguments than those that the solution starts."""
    expected = right.facts.first.ranks[0].arguments
    for rank in ran.facts.first.ranks:
        if rank.arguments != expected:
            return Finding(seen=f"A rank on {rank.host} has the arguments {rank.arguments}", expected=f"{expected}")
    return unseen(ran)


def other_network(ran: Rank[Started], right: Rank[Started], own: str, other: str) -> Finding | None:
    """Return a Finding where tensors do not travel over the network that DATA_NETWORK names.

    Args:
        ran: the script, on a cluster.
        right: the solution, on the same cluster.
        own: the interface to that network.
        other: that to the other one.
    """
    if nothing := unseen(ran):
        return nothing
    received, sent = ran.facts.received, right.facts.received[own]
    if received.get(own, 0) >= (1 - ASTRAY) * sent and received.get(other, 0) <= ASTRAY * sent:
        return None
    kilobytes = {name: received.get(name, 0) // 1000 for name in (own, other)}
    return Finding(
        seen=f"The hosts received {kilobytes[other]} kB through {other}, and {kilobytes[own]} kB through {own}, whose "
        f"network DATA_NETWORK names ({ran.cluster})",
        expected=f"tensors through {own}",
    )


def not_staged(ran: Rank[Started]) -> Finding | None:
    """Return a Finding where DATA points a rank to anything but a copy on the disk of its own host."""
    for rank in ran.facts.first.ranks:
        if rank.copied != "own":
            data = rank.variables.get("DATA")
            place = f"the folder '{data}'" if data else "no folder"
            why = ", which all hosts share" if rank.copied == "shared" else ", where the data are not" * bool(data)
            return Finding(
                seen=f"DATA points a rank on {rank.host} to {place}{why}",
                expected="a copy of all data on the host's own disk, /scratch",
            )
    return unseen(ran)


def per_host(counts: Counter[str]) -> str:
    """Return how many there are on each host."""
    return listed([f"{number} on {host}" for host, number in sorted(counts.items())])
