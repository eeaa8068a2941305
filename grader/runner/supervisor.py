"""Run a job: a script under ranks, on each of its topologies, watched from outside, and ended where they never would.

The supervisor forks the ranks and never runs anything of theirs. Its time limit is for what the time budget counts: on
a machine that is busy with other things, the answer comes later.
"""

import contextlib
import os
import re
import selectors
import socket
import time
from collections.abc import Callable
from pathlib import Path

from grader.sandbox.time_budget import Budget
from grader.terms.facts import Answer, Disk, Result
from grader.terms.job import Job, side_by_side
from grader.runner import disks
from grader.runner.running_rank import Entry, RunningRank, environments, folder, fork, release

MEMORY = 8 * 2**30  # bytes that all ranks may take together
PULSE = 0.5  # seconds between looks at memory and time
TO_SEND = 3  # seconds that a rank may take to send what it did until then
GRACE = 3  # seconds that a rank may do nothing after another one failed
HOPELESS = {"time", "output", "memory", "stall"}  # a script that had to be ended for these would have to be again

# Seconds in which no rank does anything while one waits in a collective: they would wait indefinitely.
# Horovod's own warning is for MPI alone: its controller for Gloo has an empty list of ranks, so it never misses any
# (0.28.1).
STALL = 6
# On a busy machine, TensorFlow may sleep for longer by itself, and then continue: grader.sandboxed.iterators describes
# the cause that was found, and prevents it. Whatever else may be slow has more time there, in proportion to the load.
LONGEST_STALL = 30


def run(
    job: Job, entry: Entry, later: Callable[[], object], begins: Callable[[], object], link: int | None = None
) -> Answer:
    """Run a job's topologies and return the answer; after one that had to be ended, no other is run.

    Args:
        job: the script, its topologies and its time limit.
        entry: what each forked process runs as a rank.
        later: called for each second more than the limit that the answer may take.
        begins: called before each of the job's turns.
        link: the socket to the witness, if a topology has one.
    """
    budget, traffic = Budget(later), 0
    reserved = {topology.name for topology in job.topologies if topology.reserved}
    topologies = {topology.name: topology for topology in job.topologies}
    ranks = {topology.name: fork(job, topology, entry, link) for topology in job.topologies}
    told = {topology.name: environments(topology, link) for topology in job.topologies}
    results: dict[str, list[Result]] = {}
    left: dict[str, list[Disk]] = {}
    for names in side_by_side(job.topologies):
        begins()
        before = _traffic()
        for name in names:
            release(ranks[name], told[name])
        turn = [rank for name in names for rank in ranks[name]]
        Watch(turn, budget, job.seconds).run()
        results |= {name: [rank.result() for rank in ranks[name]] for name in names}
        left |= {name: disks.look(folder(job, topologies[name]), topologies[name]) for name in names}
        if not reserved.issuperset(names):  # a script may send little when it is started again, since it fails there
            traffic += _traffic() - before
        if any(rank.ended_for in HOPELESS for rank in turn):
            break
    if link is not None:  # the witness is through, whatever a rank has left behind that still holds this end
        socket.socket(fileno=link).shutdown(socket.SHUT_RDWR)
    return Answer(results, traffic, left)


class Watch:
    """Watches ranks until all have ended, or must be."""

    def __init__(self, ranks: list[RunningRank], budget: Budget, seconds: float):
        """Watch these ranks, of one topology or several, until the budget has counted that many seconds."""
        self.ranks, self.budget, self.seconds = ranks, budget, seconds
        self.groups: dict[str, list[RunningRank]] = {}  # by topology
        for rank in ranks:
            self.groups.setdefault(rank.topology.name, []).append(rank)
        self.failed: set[str] = set()  # topologies in which a rank failed
        self.greedy = False  # whether the ranks take more memory than they may
        self.load = 0.0  # of the machine: processes that run or wait for a core

    def run(self) -> None:
        """Read what the ranks write, and end those that have to be ended, until all have ended."""
        with selectors.DefaultSelector() as selector:
            for rank in self.ranks:
                for stream, fd in rank.pipes.items():
                    selector.register(fd, selectors.EVENT_READ, (rank, stream))
                selector.register(os.pidfd_open(rank.pid), selectors.EVENT_READ, (rank, "pid"))
            while not all(rank.over for rank in self.ranks):
                for key, _ in selector.select(PULSE):
                    rank, stream = key.data
                    if stream != "pid":
                        self._read(selector, rank, stream)
                        continue
                    selector.unregister(key.fd)  # or it would wake this process again and again
                    os.close(key.fd)
                    if not rank.over:
                        self._reap(rank)
                for group in self.groups.values():
                    self._let_group_end(group)
                if time.monotonic() - self.budget.looked >= PULSE:
                    self._look()
                self._kill_what_is_out_of_bounds()
        for rank in self.ranks:
            _drain(rank)

    def _read(self, selector: selectors.BaseSelector, rank: RunningRank, stream: str) -> None:
        """Keep what a rank wrote; once its facts are there, note whether it failed, and whether it waits."""
        piece = os.read(rank.pipes[stream], 65536)
        rank.keep(stream, piece)
        if piece:
            return
        selector.unregister(rank.pipes[stream])
        if stream == "facts" and not rank.over:
            failed = rank.has_error()
            rank.waits = failed or rank.threaded or bool(rank.ended_for)
            if failed:
                self.failed.add(rank.topology.name)

    def _reap(self, rank: RunningRank) -> None:
        rank.reap()
        if rank.exit:
            self.failed.add(rank.topology.name)

    def _let_group_end(self, group: list[RunningRank]) -> None:
        """Let the ranks of a topology go once each of them is through, and end its servers, which never are."""
        if all(rank.over or rank.waits or rank.serves for rank in group):
            for rank in group:
                if rank.ended_for:
                    rank.until = 0  # all have sent what they did
                elif not rank.over:
                    rank.let_end()
        if all(rank.over or rank.serves for rank in group):
            for rank in group:
                if not rank.over:
                    rank.kill()
                    rank.exit = 0

    def _look(self) -> None:
        """Look at the time, the memory and what each rank does, and ask those to end that would wait indefinitely."""
        alive = [rank for rank in self.ranks if not rank.over]
        passed = self.budget.look(_processes() or [rank.pid for rank in alive])
        for rank in alive:
            rank.look(passed - self.budget.waited[rank.pid])
        self.greedy = _memory() > MEMORY
        until = self.budget.had + TO_SEND
        self.load = _load(self.load, Path("/proc/loadavg").read_text())
        patience = _patience(self.load, self.seconds - self.budget.had)
        for name, group in self.groups.items():
            if name not in self.failed and _stalled([rank for rank in group if not rank.over], patience):
                for rank in group:
                    if not (rank.over or rank.waits or rank.ended_for):
                        rank.ask_to_end("stall", until)
        for rank in alive:  # one that is still at work may yet fail by itself, and say why
            idle = rank.still > GRACE and not (rank.waits or rank.serves or rank.ended_for)
            if idle and rank.topology.name in self.failed:
                rank.ask_to_end("others", until)

    def _kill_what_is_out_of_bounds(self) -> None:
        for rank in self.ranks:
            late = self.budget.had >= min(self.seconds, rank.until)
            if not rank.over and (self.greedy or rank.ended_for == "output" or late):
                rank.ended_for = rank.ended_for or ("memory" if self.greedy else "time")
                rank.kill()


def _load(before: float, loadavg: str) -> float:
    """Return the machine's load: its mean over a minute, or that over some looks, where it has just risen.

    Args:
        before: the load at the last look.
        loadavg: what /proc/loadavg says, as in proc(5).
    """
    minute, _, _, processes, _ = loadavg.split()
    return max(float(minute), before + (int(processes.split("/")[0]) - before) / 10)


def _patience(load: float, left: float) -> float:
    """Return the seconds that ranks may stand still on a machine with this load, with so many seconds left for them."""
    if left < 2 * TO_SEND:  # they can still say where they wait
        return STALL
    return min(LONGEST_STALL, STALL * max(1.0, load / len(os.sched_getaffinity(0))))


def _stalled(alive: list[RunningRank], patience: float) -> bool:
    """Return whether all of a topology's ranks have been still for so long, while one is in a collective."""
    still = all(rank.still > patience and not rank.serves for rank in alive)
    return still and any(rank.collective for rank in alive) and not any(rank.may_run() for rank in alive)


def _drain(rank: RunningRank) -> None:
    """Keep what is left in the pipes of a rank that has ended."""
    for stream, fd in rank.pipes.items():
        os.set_blocking(fd, False)
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(fd, 65536):
                rank.keep(stream, piece)
                if rank.ended_for == "output":
                    break


def _traffic() -> int:
    """Return the bytes that went over the loopback, as the kernel counts them."""
    counts = dict(line.split(":") for line in Path("/proc/net/dev").read_text().splitlines() if ":" in line)
    return int(counts["    lo"].split()[0])


def _processes() -> list[int]:
    """Return all processes of the sandbox; none outside of one."""
    return [] if os.getpid() > 10 else [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def _memory() -> int:
    """Return the bytes that all processes here have of their own or share, files apart, in a sandbox; 0 outside of one.

    What several processes share counts for each: a little, in ranks that do not set out to share memory.
    """
    kilobytes = 0
    for process in _processes():
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process}/status").read_text()  # see proc(5)
            kilobytes += sum(int(found) for found in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", status, re.M))
    return 1024 * kilobytes
