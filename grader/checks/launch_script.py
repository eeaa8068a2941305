"""The part of launch.sh, step 18: a script that starts a program on all hosts of a cluster.

It runs on hosts that it has never seen, and starts a small program of the judge's there. What it is judged by is seen
from outside of it: see grader.watchers.launch_watcher.
"""

from collections import Counter

from grader.checks import ending
from grader.checks.on_hosts import (
    DATA,
    MANAGEMENT,
    MPIRUN,
    cluster,
    invalid,
    listed,
    not_staged,
    of,
    other_arguments,
    other_network,
    said,
)
from grader.checks.part import Part
from grader.reading import shell
from grader.reading.parsing import Source
from grader.terms.clusters import Watched
from grader.terms.findings import Finding, Untold
from grader.terms.report import Outcome
from grader.terms.runs import LaunchRank, LaunchRuns
from grader.terms.watched_facts import LaunchFacts

part = Part("launch.sh", LaunchFacts, read=shell.read)

UNEVEN = cluster("launch_script", "uneven", "2 hosts with 1 and 3 slots", 2, reserved=False)
FAILING = cluster("launch_script", "failing", "2 hosts, on one of which a rank fails", 2)
UNSHARED = cluster("launch_script", "unshared", "2 hosts, one of which has not mounted the shared folder", 2)
FULL = cluster("launch_script", "full", "2 hosts, one of which has a full disk", 2)
CUT = cluster("launch_script", "cut", "2 hosts, one of which loses its cable", 2)
CUT_FIRST = cluster("launch_script", "cut_first", "2 hosts, of which the other one loses its cable", 2)

LATEST = 30  # seconds in which a host that is lost has to be noticed


def ended(runs: LaunchRuns, step: int, seconds: float, script: str) -> Outcome:
    """Return how the script ended where nothing happens to the hosts."""
    ran = of(runs, UNEVEN)
    facts = ran.facts
    refused = invalid(facts.syntax, step)
    if refused:
        return refused
    started = f"{len(facts.ranks)} ranks were started" if facts.ranks else "no rank was started"
    if ran.ended_for == "output":
        return ending.outcome("failed", step, f"The script prints endlessly ({ran.cluster}).")
    if ran.ended_for:
        met = "exchanged data, and ended" if facts.met else "have not all exchanged data with each other"
        rest = f", which {met}" if facts.ranks else ""
        message = f"The script does not end ({ran.cluster}): {started}{rest}.{said(ran)}"
        return ending.outcome("failed", step, message)
    if ran.exit:
        message = f"The script ends with status {ran.exit} ({ran.cluster}); {started}. Expected: 0.{said(ran)}"
        return ending.outcome("failed", step, message)
    if not facts.ranks:
        return ending.outcome("failed", step, f"The script ends without starting a rank ({ran.cluster}).{said(ran)}")
    return ending.outcome("passed", step, "Correct.")


part.ended = ended


def _no_rank(ran: LaunchRank) -> Finding | None:
    """Return why there is nothing to see, where a script started no rank."""
    return None if ran.facts.ranks else Untold(seen=f"no rank was started ({ran.cluster}).")


@part.check(
    18,
    points=2,
    clusters=(UNEVEN, FAILING, UNSHARED, FULL, CUT, CUT_FIRST),
    asks=("Start as many ranks on each host as it has slots",),
    hint="mpirun reads the slots from the file that --hostfile names, but not every comment in it.",
)
def ranks(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """On each host, as many ranks are started as the hostfile says."""
    ran = of(runs, UNEVEN)
    nothing = _no_rank(ran)
    if nothing:
        return nothing
    found, wanted = (Counter(rank.host for rank in of(each, UNEVEN).facts.ranks) for each in (runs, expected))
    if found != wanted:
        where = listed(found)
        message = f"Ranks were started on these hosts ({ran.cluster}): {where}. Expected: {listed(wanted)}."
        return Finding(seen=message, line=source.line_of(*MPIRUN))
    if not ran.facts.met:
        message = f"{len(ran.facts.ranks)} ranks were started, and never exchanged data with each other."
        return Finding(seen=f"{message} Expected: one job of all ranks.", line=source.line_of(*MPIRUN))
    return None


@part.check(
    18,
    points=1,
    asks=("Pass the program's arguments on as they are",),
    hint='"${array[@]}", in quotes, is one word per element; $* and ${array[@]} without quotes are not.',
)
def arguments(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """Each rank has the arguments that the script was given for the program."""
    ran = of(runs, UNEVEN)
    line = source.line_of("program", *MPIRUN)
    odd = other_arguments(ran.facts.ranks, of(expected, UNEVEN).facts.ranks, line)
    return odd or _no_rank(ran)


@part.check(
    18,
    points=1,
    asks=("`RUN` and `SEED` reach every rank",),
    hint="mpirun has an option for each variable that is to travel.",
)
def variables(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """The variables RUN and SEED reach every rank, on all hosts."""
    ran = of(runs, UNEVEN)
    wanted = of(expected, UNEVEN).facts.ranks[0].variables
    for rank in ran.facts.ranks:
        for name, value in rank.variables.items():
            if value != wanted[name]:
                has = "does not have" if value is None else f"has '{value}' in"
                message = f"A rank on {rank.host} {has} the variable {name}. Expected: '{wanted[name]}'."
                return Finding(seen=message, line=source.line_of(name, *MPIRUN))
    return _no_rank(ran)


@part.check(
    18,
    points=2,
    asks=("over the network that `DATA_NETWORK` names, and over no other",),
    hint="btl_tcp_if_include takes a network such as 10.77.0.0/24, too.",
)
def network(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """Tensors travel over the network that DATA_NETWORK names."""
    for where, networks in ((UNEVEN, (DATA, MANAGEMENT)), (FAILING, (MANAGEMENT, DATA))):
        ran, sent = of(runs, where), of(expected, where).facts.received
        if not ran.facts.met:
            message = f"the ranks never exchanged data ({ran.cluster})."
            return Untold(seen=message, line=source.line_of(*MPIRUN))
        odd = other_network(ran.facts.received, sent[networks[0]], networks, 1 / 8, "host", ran.cluster)
        if odd:
            return Finding(seen=odd, line=source.line_of("btl_tcp_if_include", *MPIRUN))
    return None


@part.check(
    18,
    points=1,
    asks=("copy the folder `DATA` to each host's own disk", "`DATA` names the copy"),
    hint="ssh runs cp on each host. /scratch is the host's own disk. Then mpirun passes DATA on with another value.",
)
def staged(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """DATA points each rank to a copy of the data on its own host's disk."""
    ran = of(runs, UNEVEN)
    return not_staged(ran.facts.ranks, "host", source.line_of("DATA", *MPIRUN)) or _no_rank(ran)


@part.check(
    18,
    points=1,
    asks=("Start no rank at all if one host has no copy, and end with a status other than 0",),
    hint="A command in the background has a status, too: wait returns it.",
)
def none_without(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """No rank starts if a host has no copy of the data."""
    line = source.line_of("cp", "rsync", "scp", *MPIRUN)
    for where, what in ((UNSHARED, "One host does not see the data"), (FULL, "One host has no room for the data")):
        ran = of(runs, where)
        ranks = Counter(rank.host for rank in ran.facts.ranks)
        if ranks and all(rank.copied == "own" for rank in ran.facts.ranks):
            continue  # it sent the data there
        if ranks:
            message = f"{what} ({ran.cluster}), and ranks were started all the same: {listed(ranks)}."
            return Finding(seen=f"{message} Expected: none.", line=line)
        if ran.ended_for:
            return Finding(seen=f"{what} ({ran.cluster}), and the script does not end.", line=line)
        if not ran.exit:
            message = f"{what} ({ran.cluster}), and the script ends with status 0. Expected: another status."
            return Finding(seen=message, line=line)
    return staged(runs, expected, source) and Untold(seen="Not checked until each host has a copy.")


@part.check(
    18,
    points=1,
    asks=("if a rank fails, another status than 0",),
    hint="After `wait PID`, $? has the status of that process. `|| true` throws it away.",
)
def status(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """The script ends with a status other than 0 if a rank fails, and leaves no rank behind."""
    ran = of(runs, FAILING)
    if not ran.facts.met:
        return Untold(seen=f"the ranks never exchanged data ({ran.cluster}).")
    if ran.ended_for:
        return Finding(seen=f"A rank fails with status 3, and the script does not end ({ran.cluster}).")
    if not ran.exit:
        message = f"A rank fails with status 3, and the script ends with status 0 ({ran.cluster})."
        return Finding(seen=f"{message} Expected: another status.", line=source.line_of("wait", *MPIRUN))
    return _left(ran, "A rank fails")


@part.check(
    18,
    points=1,
    asks=("print its name within 30 s, end the ranks on the other hosts, and end with a status other than 0",),
    hint="ssh to a host that is gone does not return for long: timeout ends it. Who looks while mpirun runs?",
)
def lost(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """A host that no longer answers is named, and the ranks on the others end."""
    return _lost(runs, expected, source, CUT) or _lost(runs, expected, source, CUT_FIRST)


def _lost(runs: LaunchRuns, expected: LaunchRuns, source: Source, where: Watched) -> Finding | None:
    """Return a Finding where the lost host of a cluster is not named, or ranks on the other one do not end."""
    ran = of(runs, where)
    gone = of(expected, where).facts.named[-1]
    what = f"The cable of {gone} was pulled"
    if not ran.facts.met:
        return Untold(seen=f"the ranks never exchanged data ({ran.cluster}).")
    line = source.line_of("kill", "timeout", *MPIRUN)
    if ran.ended_for or ran.facts.seconds is None:
        message = f"{what}, and the script still runs {LATEST} s later. Expected: it names {gone}, and ends."
        return Finding(seen=message, line=line)
    if not ran.exit:
        return Finding(seen=f"{what}, and the script ends with status 0. Expected: another status.", line=line)
    if ran.facts.named != [gone]:
        others = " and ".join(name for name in ran.facts.named if name != gone)
        printed = f"{others} as well" if gone in ran.facts.named else others or "no host's name"
        return Finding(seen=f"{what}, and the script prints {printed}. Expected: {gone}, the lost host.", line=line)
    return _left(ran, what)


def _left(ran: LaunchRank, what: str) -> Finding | None:
    """Return a Finding where processes are left on hosts after the script has ended."""
    if not ran.facts.left:
        return None
    hosts = " and ".join(ran.facts.left)
    return Finding(seen=f"{what}, the script ends, and processes still run on {hosts} 5 s later. Expected: none.")
