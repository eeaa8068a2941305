"""Run a script under ranks: on each topology of a job, watched from outside, and ended where they would not end.

A job is {"script": text, "name": its file name, "folder": to work in, "seconds": time limit, "topologies": [{"name",
"hosts", "slots", "gpus", "arguments", "after": the one in whose folders it is run, or null, "tasks", "dies"}],
"programs": {name: text} of the solutions that do tasks in place of the script}. The time limit is for what grader.clock
counts, and on a machine that is busy with other things the answer comes as much later. The answer is
{"topologies": {name: [rank 0's result, rank 1's, …]}, "traffic": bytes that went over the loopback}, a result being
{"exit": status or minus the signal, "ended_for": null, or why it had to be ended: "time", "output", "memory", "others"
that failed or "stall", "collective": the one that it was in at its end, or "", "facts": see grader.probe or null,
"stdout", "stderr": text}.
"""

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable
from pathlib import Path

from grader.clock import Clock
from grader.forks import Rank, fork, let_go, variables

KEPT = 200_000  # bytes of each stream of each rank
FACTS_KEPT = 2_000_000
MEMORY = 8 * 2**30  # bytes that all ranks may take together
PULSE = 0.5  # seconds between looks at memory and time
TO_TELL = 3  # seconds that a rank may take to tell what it did until then
GRACE = 3  # seconds that a rank may do nothing after another one failed
HOPELESS = {"time", "output", "memory", "stall"}  # whoever has to be ended for these has to be again

STALL = 6  # seconds in which no rank does anything while one waits in a collective: they will wait for good. Horovod's
# own warning is for MPI alone: its controller for Gloo has an empty list of ranks, and so never misses any (0.28.1).


def run(job: dict, later: Callable[[], None]) -> dict:
    """Run a job's topologies and return the answer; after one that had to be ended none is run any more.

    Whoever waits for the answer is told, by a call of later, of each second more than the limit that it may take.
    """
    clock, before = Clock(later), _traffic()
    ranks = {topology["name"]: fork(job, topology) for topology in job["topologies"]}
    told = {topology["name"]: variables(topology) for topology in job["topologies"]}
    results = {}
    for names in _turns(job["topologies"]):
        for name in names:
            let_go(ranks[name], told[name])
        _collect([rank for name in names for rank in ranks[name]], clock, job["seconds"])
        results |= {name: [rank.result() for rank in ranks[name]] for name in names}
        if any(rank.ended_for in HOPELESS for name in names for rank in ranks[name]):
            break
    return {"topologies": results, "traffic": _traffic() - before}


def _turns(topologies: list[dict]) -> list[list[str]]:
    """Say which topologies run side by side: all, if each rank has a core, and otherwise each for itself.

    Ranks that share a core throw each other's data out of its caches, and all of them take longer.
    """
    if len(os.sched_getaffinity(0)) < sum(topology["hosts"] * topology["slots"] for topology in topologies):
        return [[topology["name"]] for topology in topologies]
    turns = [
        [topology["name"] for topology in topologies if bool(topology["after"]) == later] for later in (False, True)
    ]
    return [turn for turn in turns if turn]


def _traffic() -> int:
    """Return the bytes that went over the loopback, as the kernel counts them."""
    counts = dict(line.split(":") for line in Path("/proc/net/dev").read_text().splitlines() if ":" in line)
    return int(counts["    lo"].split()[0])


def _collect(ranks: list[Rank], clock: Clock, seconds: float) -> None:
    """Read what the ranks write until all have ended, or must be."""
    selector = selectors.DefaultSelector()
    for rank in ranks:
        for name, fd in rank.pipes.items():
            selector.register(fd, selectors.EVENT_READ, (rank, name))
        selector.register(os.pidfd_open(rank.pid), selectors.EVENT_READ, (rank, "pid"))
    topologies = dict.fromkeys(rank.topology for rank in ranks)
    greedy, failed = False, set()
    while not all(rank.over for rank in ranks):
        for key, _ in selector.select(PULSE):
            rank, name = key.data
            if name != "pid":
                ended = not _keep(rank, name, key.fd, selector)
                if ended and name == "facts" and not rank.over:
                    error = (rank.result()["facts"] or {}).get("error")
                    rank.waits = bool(error) or rank.threaded or bool(rank.ended_for)
                    failed |= {rank.topology} if error else set()
            elif not rank.over:
                _end(rank)
                if rank.exit:
                    failed.add(rank.topology)
        for topology in topologies:
            members = [rank for rank in ranks if rank.topology == topology]
            if all(rank.over or rank.waits or rank.serves for rank in members):
                for rank in members:
                    if rank.ended_for:
                        rank.until = 0  # all have told what they did
                    elif not rank.over:
                        _let_end(rank)
            if all(rank.over or rank.serves for rank in members):
                for rank in members:
                    if not rank.over:
                        os.kill(rank.pid, signal.SIGKILL)
                        _end(rank)
                        rank.exit = 0
        if time.monotonic() - clock.looked >= PULSE:
            alive = [rank for rank in ranks if not rank.over]
            passed = clock.look(_processes() or [rank.pid for rank in alive])
            for rank in alive:
                _look(rank, passed - clock.waited[rank.pid])
            greedy = _memory() > MEMORY
            for rank in _stalled([rank for rank in alive if rank.topology not in failed]):
                _ask(rank, "stall", clock)
            for rank in alive:  # one that is still at work may yet fail by itself, and say why
                if rank.topology in failed and rank.still > GRACE and not (rank.waits or rank.serves or rank.ended_for):
                    _ask(rank, "others", clock)
        for rank in ranks:
            if not rank.over and (greedy or rank.ended_for == "output" or clock.had >= min(seconds, rank.until)):
                rank.ended_for = rank.ended_for or ("memory" if greedy else "time")
                os.kill(rank.pid, signal.SIGKILL)
                _end(rank)
    selector.close()
    for rank in ranks:  # what is left in the pipes
        for name, fd in rank.pipes.items():
            os.set_blocking(fd, False)
            with contextlib.suppress(BlockingIOError):
                while _keep(rank, name, fd) and rank.ended_for != "output":
                    pass


def _end(rank: Rank) -> None:
    """Take note that a rank has ended."""
    rank.over = True
    rank.exit = os.waitstatus_to_exitcode(os.waitpid(rank.pid, 0)[1])
    _let_end(rank)


def _let_end(rank: Rank) -> None:
    """Tell a rank that waits for the others that it may go."""
    if rank.told >= 0:
        os.close(rank.told)
        rank.told = -1


def _ask(rank: Rank, reason: str, clock: Clock) -> None:
    """End a rank that would wait for good, after it has told what it did."""
    rank.waited_in = rank.collective  # which the end of another rank may bring it out of
    rank.ended_for, rank.until = reason, clock.had + TO_TELL
    _let_end(rank)


def _look(rank: Rank, seconds: float) -> None:
    """Add these seconds, in which the rank could have worked, to those that it has been still, or begin anew."""
    fields = ["Z"] + ["0"] * 13
    with contextlib.suppress(OSError):  # it has just ended
        of = "" if rank.threaded else f"/task/{rank.pid}"
        fields = Path(f"/proc/{rank.pid}{of}/stat").read_text().rpartition(")")[2].split()
    state, ticks = fields[0], int(fields[11]) + int(fields[12])  # as proc(5) tells
    # Threads that look after connections take a tick now and then.
    worked = ticks > rank.ticks + 1 if rank.threaded else state != "S" or ticks != rank.ticks
    rank.still = 0 if worked else rank.still + max(0.0, seconds)
    rank.ticks = ticks


def _stalled(ranks: list[Rank]) -> list[Rank]:
    """Return the ranks of those topologies in which all have been still for long, while one is in a collective."""
    topologies = {}
    for rank in ranks:
        topologies.setdefault(rank.topology, []).append(rank)
    return [
        rank
        for members in topologies.values()
        if all(rank.still > STALL and not rank.serves for rank in members) and any(rank.collective for rank in members)
        for rank in members
        if not rank.ended_for
    ]


def _processes() -> list[int]:
    """Return all processes that there are in a sandbox; none outside of one."""
    return [] if os.getpid() > 10 else [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def _memory() -> int:
    """Return the bytes that all processes here have of their own, in a sandbox; 0 outside of one."""
    pages = 0
    for process in _processes():
        with contextlib.suppress(OSError):
            _, resident, shared, *_ = map(int, Path(f"/proc/{process}/statm").read_text().split())
            pages += resident - shared
    return pages * os.sysconf("SC_PAGESIZE")


def _keep(rank: Rank, name: str, fd: int, selector: selectors.BaseSelector | None = None) -> bool:
    """Read a piece of a pipe, keep no more of it than the limit, and return whether there was any."""
    piece = os.read(fd, 65536)
    if not piece and selector:
        selector.unregister(fd)
    limit = FACTS_KEPT if name == "facts" else KEPT
    if len(rank.kept[name]) + len(piece) > limit:
        rank.ended_for = "output"
    rank.kept[name] += piece[: limit - len(rank.kept[name])]
    return bool(piece)
