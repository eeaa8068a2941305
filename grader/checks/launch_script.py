"""The part of launch.sh, step 18: a script that starts a program on all hosts of a cluster.

It runs on hosts that it has never seen, and starts a small program of the judge's there. What it is judged by is seen
from outside of it: see grader.watchers.launch_watcher.
"""

from collections import Counter

from grader.checks import on_hosts
from grader.checks.on_hosts import DATA, MANAGEMENT, MPIRUN, of, per_host
from grader.checks.part import Part
from grader.reading import shell
from grader.reading.parsing import Source
from grader.terms.clusters import Watched
from grader.terms.findings import Finding, Untold, listed
from grader.terms.runs import LaunchRank, LaunchRuns
from grader.terms.watched_facts import LaunchFacts


def _cluster(name: str, description: str, reserved: bool = True) -> Watched:
    return on_hosts.cluster("launch_watcher", name, description, 2, reserved)


UNEVEN = _cluster("uneven", "2 hosts with 1 and 3 slots", reserved=False)
FAILING = _cluster("failing", "2 hosts, on one of which a rank fails")
UNSHARED = _cluster("unshared", "2 hosts, one of which has not mounted the shared folder")
FULL = _cluster("full", "2 hosts, one of which has a full disk")
CUT = _cluster("cut", "2 hosts, one of which loses its cable")
CUT_FIRST = _cluster("cut_first", "2 hosts, of which the other one loses its cable")

LATEST = 30  # seconds in which a host that is lost has to be noticed
ANOTHER = "a status other than 0"


def _failure(runs: LaunchRuns) -> Finding | None:
    """Return why the script did not run to its end where nothing happens to the hosts, if so."""
    ran = of(runs, UNEVEN)
    return on_hosts.failure(ran, "script", f"with status {ran.exit}", "with status 0")


part = Part("launch.sh", LaunchFacts, read=shell.read, ended=on_hosts.ends(_failure))


@part.check(
    18,
    points=2,
    clusters=(UNEVEN, FAILING, UNSHARED, FULL, CUT, CUT_FIRST),
    asks=("start as many ranks on each host as it has slots",),
    look_at=MPIRUN,
    figure="ranks_on_hosts",
    hint="mpirun reads the slots from the file that --hostfile names, but not every comment in it.",
)
def ranks(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """On each host, as many ranks are started as the hostfile says."""
    return on_hosts.wrong_ranks(of(runs, UNEVEN), of(expected, UNEVEN))


@part.check(
    18,
    points=1,
    asks=("Pass the program's arguments on unchanged",),
    look_at=("program", *MPIRUN),
    hint='"${array[@]}", in quotes, is one word per element; $* and ${array[@]} without quotes are not.',
)
def arguments(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """Each rank has the arguments that the script was given for the program."""
    return on_hosts.other_arguments(of(runs, UNEVEN), of(expected, UNEVEN))


@part.check(
    18,
    points=1,
    asks=("pass `RUN` and `SEED` to every rank",),
    look_at=MPIRUN,
    hint="mpirun has an option for each variable that is to travel.",
)
def variables(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """The variables RUN and SEED reach every rank, on all hosts."""
    ran = of(runs, UNEVEN)
    wanted = of(expected, UNEVEN).facts.first.ranks[0].variables
    for rank in ran.facts.first.ranks:
        for name in ("RUN", "SEED"):
            value = rank.variables.get(name)
            if value != wanted[name]:
                has = "does not have" if value is None else f"has '{value}' in"
                return Finding(
                    seen=f"A rank on {rank.host} {has} the variable {name}",
                    expected=f"'{wanted[name]}'",
                    line=source.line_of(name),
                )
    return on_hosts.unseen(ran)


@part.check(
    18,
    points=2,
    asks=("over the network that `DATA_NETWORK` names, and over no other",),
    look_at=("btl_tcp_if_include", *MPIRUN),
    hint="btl_tcp_if_include takes a network such as 10.77.0.0/24, too.",
)
def network(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """Tensors travel over the network that DATA_NETWORK names."""
    odd = on_hosts.other_network(of(runs, UNEVEN), of(expected, UNEVEN), DATA, MANAGEMENT)
    return odd or on_hosts.other_network(of(runs, FAILING), of(expected, FAILING), MANAGEMENT, DATA)


@part.check(
    18,
    points=1,
    asks=("copy the folder `DATA` to each host's own disk", "and `DATA` with the path of the copy"),
    look_at=("DATA", *MPIRUN),
    hint="ssh runs cp on each host. /scratch is the host's own disk. Then mpirun passes DATA on with another value.",
)
def staged(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """DATA points each rank to a copy of the data on its own host's disk."""
    return on_hosts.not_staged(of(runs, UNEVEN))


@part.check(
    18,
    points=1,
    asks=("If a host has no copy, start no rank, and end with a status other than 0",),
    look_at=("cp", "rsync", "scp", *MPIRUN),
    hint="A command in the background has a status, too: wait returns it.",
)
def none_without(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """No rank starts if a host has no copy of the data."""
    for where, what in ((UNSHARED, "One host does not see the data"), (FULL, "One host has no room for the data")):
        ran = of(runs, where)
        what = f"{what} ({ran.cluster}), and"
        ranks = Counter(rank.host for rank in ran.facts.first.ranks)
        if ranks and all(rank.copied == "own" for rank in ran.facts.first.ranks):
            continue  # it sent the data there
        if ranks:
            return Finding(seen=f"{what} ranks were started all the same: {per_host(ranks)}", expected="none")
        if ran.ended_for:
            return Finding(seen=f"{what} the script does not end", expected=f"it ends with {ANOTHER}")
        if not ran.exit:
            return Finding(seen=f"{what} the script ends with status 0", expected=ANOTHER)
    return staged(runs, expected, source) and Untold(seen="not every host has a copy of the data")


@part.check(
    18,
    points=1,
    asks=("If a rank fails, end with another status",),
    look_at=("wait", *MPIRUN),
    hint="After `wait PID`, $? has the status of that process. `|| true` throws it away.",
)
def status(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """The script ends with a status other than 0 if a rank fails, and leaves no rank behind."""
    ran = of(runs, FAILING)
    what = f"A rank fails with status 3 ({ran.cluster})"
    if nothing := on_hosts.unseen(ran):
        return nothing
    if ran.ended_for:
        return Finding(seen=f"{what}, and the script does not end", expected=f"it ends with {ANOTHER}")
    if not ran.exit:
        return Finding(seen=f"{what}, and the script ends with status 0", expected=ANOTHER)
    return _left(ran, what)


@part.check(
    18,
    points=1,
    asks=("When a host does not, print its name within 30 s, end the ranks on the other hosts",),
    look_at=("kill", "timeout", *MPIRUN),
    hint="ssh to a lost host waits for a long time: end it with timeout. Ask while mpirun runs in the background.",
)
def lost(runs: LaunchRuns, expected: LaunchRuns, source: Source) -> Finding | None:
    """A host that no longer answers is named, and the ranks on the others end."""
    return _lost(runs, expected, CUT) or _lost(runs, expected, CUT_FIRST)


def _lost(runs: LaunchRuns, expected: LaunchRuns, where: Watched) -> Finding | None:
    """Return a Finding where the lost host of a cluster is not named, or ranks on the other one do not end."""
    ran = of(runs, where)
    gone = of(expected, where).facts.named[-1]
    what = f"The cable of {gone} was pulled"
    if nothing := on_hosts.unseen(ran):
        return nothing
    if ran.ended_for:
        late = f"{what}, and the script still runs {LATEST} s later"
        return Finding(seen=late, expected=f"it prints the name {gone}, and ends")
    if not ran.exit:
        return Finding(seen=f"{what}, and the script ends with status 0", expected=ANOTHER)
    if ran.facts.named != [gone]:
        others = listed([name for name in ran.facts.named if name != gone])
        names = f"{others} as well" if gone in ran.facts.named else others or "no host's name"
        return Finding(seen=f"{what}, and the script prints {names}", expected=f"{gone}, the lost host")
    return _left(ran, what)


def _left(ran: LaunchRank, what: str) -> Finding | None:
    """Return a Finding where processes are left on hosts after the script has ended."""
    if not ran.facts.running:
        return None
    seen = f"{what}, the script ends, and processes still run on {listed(ran.facts.running)} 5 s later"
    return Finding(seen=seen, expected="the script ends all ranks")
