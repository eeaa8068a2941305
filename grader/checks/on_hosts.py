"""What is judged alike in all scripts that run on several hosts: how they end, and what their ranks are given."""

import re
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from grader.checks import ending
from grader.terms.clusters import Watched
from grader.terms.findings import Finding, Untold, counted, listed
from grader.terms.report import Outcome
from grader.terms.runs import Facts, Rank, Runs
from grader.terms.watched_facts import JobFacts, LaunchFacts

Started = TypeVar("Started", LaunchFacts, JobFacts)

DATA, MANAGEMENT = "eth0", "eth1"  # interfaces
MPIRUN = "mpirun", "mpiexec", "prterun", "srun"
ELSEWHERE = 1 / 4  # of the bytes of all tensors: what may travel over another network. MPI by itself uses all networks.
LAST = 400  # characters of what a script printed last
_NOTICE = re.compile(
    r"^-{74}\n\w+ detected that one or more processes exited with non-zero status.*?^-{74}\n", re.M | re.S
)


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


def failure(ran: Rank[Started], what: str, ended: str, right: str) -> Finding | None:
    """Return why a script did not run to its end where nothing happens to the hosts, if so.

    Args:
        ran: the script.
        what: it is called.
        ended: how it ended, in words.
        right: how it has to end, likewise.
    """
    facts, hint = ran.facts, printed(ran.stdout)
    if facts.syntax:
        line = facts.syntax.partition("line ")[2].partition(":")[0]
        language, command = ("Python", "python -m ast") if ": SyntaxError: " in facts.syntax else ("bash", "bash -n")
        return Finding(
            seen=f"The {what} is not valid {language}: {facts.syntax.splitlines()[0]}",
            expected=f"`{command}` reads it without an error",
            line=int(line) if line.isdecimal() else None,
        )
    ranks = sum(len(run.ranks) for run in facts.runs)
    met = "exchanged data" if facts.first.met else "have not all exchanged data with each other"
    started = f"{counted(ranks, 'rank')} started, which {met}" if ranks else "no rank started"
    if ran.ended_for:
        how = "prints endlessly" if ran.ended_for == "output" else "does not end"
        return Finding(seen=f"The {what} {how} ({ran.cluster}): {started}", expected="it ends by itself", hint=hint)
    if ended != right:
        return Finding(seen=f"The {what} ends {ended} ({ran.cluster}): {started}", expected=right, hint=hint)
    if not ranks:
        seen = f"The {what} ends without starting a rank ({ran.cluster})"
        return Finding(seen=seen, expected="one rank per slot or task", hint=hint)
    return None


def printed(text: str) -> str:
    """Return a hint with the last lines of a text that was printed, if it has any.

    mpirun's notice that a rank has failed is left out: it hides the error that the rank printed before.
    """
    text = _NOTICE.sub("", text).strip("\0\n ")
    last = text if len(text) <= LAST else text[-LAST:].partition("\n")[2] or text[-LAST:]
    return f"It printed last: {last}" if last else ""


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
    if received.get(own, 0) >= (1 - ELSEWHERE) * sent and received.get(other, 0) <= ELSEWHERE * sent:
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
