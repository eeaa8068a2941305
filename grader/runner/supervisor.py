"""Run a job: a script's ranks on each of its clusters, watched from outside, and ended where they would never end.

The supervisor forks the ranks and never runs anything of theirs. Its time limit is for what the time budget counts: on
a machine that is busy with other things, the answer comes later.
"""

import contextlib
import math
import os
import re
import selectors
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from grader.runner import disks
from grader.runner.running_rank import Entry, RunningRank, environments, fork, release
from grader.sandbox.time_budget import Budget
from grader.terms.clusters import AnyCluster, Refused, Resumed
from grader.terms.facts import Disk
from grader.terms.job import Answer, Extended, Job, Message, Result, TurnBegan

MEMORY = 8 * 2**30  # bytes that all ranks may take together
PULSE = 0.5  # seconds between looks at memory and time
TO_SEND = 3  # seconds that a rank may take to send what it did until then
GRACE = 3  # seconds that a rank may do nothing after another one failed
HOPELESS = {"time", "output", "memory", "stall"}  # a script that had to be ended for these would have to be again

# Seconds in which no rank does anything while one waits in a collective: they would wait indefinitely.
# Horovod's own warning is for MPI alone: its controller for Gloo has an empty list of ranks, so it never misses any
# (0.28.1).
STALL = 6
# On a busy machine, TensorFlow may sleep for longer by itself, and then continue: grader.sandboxed.tensorflow_fixes
# describes the cause that was found, and prevents it. Whatever else may be slow has more time there, in proportion to
# the load.
LONGEST_STALL = 30


def run(job: Job, entry: Entry, send: Callable[[Message], object]) -> Answer:
    """Run a job's clusters and return the answer; after one that had to be ended, no other is run.

    Args:
        job: the script, its clusters and its time limit.
        entry: what each forked process runs as a rank.
        send: called with a message for each second more than the limit that the answer may take, and before each turn.
    """
    budget, traffic, killed = Budget(lambda: send(Extended())), 0, _killed_for_memory()
    clusters = {cluster.name: cluster for cluster in job.clusters}
    ranks = {cluster.name: fork(job, cluster, entry) for cluster in job.clusters}
    prepared = {cluster.name: environments(cluster) for cluster in job.clusters}
    results: dict[str, list[Result]] = {}
    left: dict[str, list[Disk]] = {}
    for names in turns(job.clusters):
        send(TurnBegan("; ".join(clusters[name].description for name in names)))
        before = _traffic()
        for name in names:
            release(ranks[name], prepared[name])
        turn = [rank for name in names for rank in ranks[name]]
        Watch(turn, budget, job).run()
        results |= {name: [rank.result() for rank in ranks[name]] for name in names}
        left |= {name: disks.look(Path(job.folder, clusters[name].folder), clusters[name]) for name in names}
        # A script may send little when it is started again, since it fails there. Without a sandbox, other programs use
        # the same loopback.
        if job.sandboxed and not all(clusters[name].reserved for name in names):
            traffic += _traffic() - before
        if any(rank.ended_for in HOPELESS for rank in turn):
            break
    return Answer(results, traffic, left, _killed_for_memory() > killed)


def turns(clusters: Sequence[AnyCluster]) -> list[list[str]]:
    """Return the names of clusters to run side by side: of all, if each rank has a core, and otherwise of one.

    Ranks that share a core evict each other's data from its caches, and all of them take longer. Ranks that
    have to end at once share it with the cluster before.
    """
    if len(os.sched_getaffinity(0)) < sum(cluster.size for cluster in clusters):
        found: list[list[str]] = []
        for cluster in clusters:
            if found and isinstance(cluster, Refused):
                found[-1].append(cluster.name)
            else:
                found.append([cluster.name])
        return found
    sides = [[cluster.name for cluster in clusters if isinstance(cluster, Resumed) == later] for later in (False, True)]
    return [turn for turn in sides if turn]


class Watch:
    """Watches ranks until all have ended, or must be."""

    def __init__(self, ranks: list[RunningRank], budget: Budget, job: Job):
        """Watch these ranks, of one cluster or several, until the budget has counted the seconds of the job."""
        self.ranks, self.budget, self.seconds, self.sandboxed = ranks, budget, job.seconds, job.sandboxed
        self.groups: dict[str, list[RunningRank]] = {}  # by cluster
        for rank in ranks:
            self.groups.setdefault(rank.cluster.name, []).append(rank)
        self.failed: set[str] = set()  # clusters in which a rank failed
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
                self._end_what_is_out_of_bounds()
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
            rank.waits = rank.failed or rank.threaded or bool(rank.ended_for)
            if rank.failed:
                self.failed.add(rank.cluster.name)

    def _reap(self, rank: RunningRank) -> None:
        rank.reap()
        if rank.exit:
            self.failed.add(rank.cluster.name)

    def _let_group_end(self, group: list[RunningRank]) -> None:
        """Let the ranks of a cluster go once each of them is through, and end its servers, which never are."""
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
        processes = _processes() if self.sandboxed else [rank.pid for rank in alive]
        passed = self.budget.look(processes)
        for rank in alive:
            rank.look(passed - self.budget.waited[rank.pid])
        self.greedy = self.sandboxed and _memory(processes) > MEMORY
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
            if idle and rank.cluster.name in self.failed:
                rank.ask_to_end("others", until)

    def _end_what_is_out_of_bounds(self) -> None:
        """Ask ranks to end that take too long or print too much, so that they send on which line; then kill them."""
        for rank in self.ranks:
            if rank.over:
                continue
            late, flooded = self.budget.had >= self.seconds, rank.ended_for == "output"
            if rank.until == math.inf and (late or flooded):
                rank.ask_to_end("output" if flooded else "time", self.budget.had + TO_SEND)
            if self.greedy or self.budget.had >= rank.until:
                rank.ended_for = rank.ended_for or "memory"
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
    """Return whether all of a cluster's ranks have been still for so long, while one is in a collective."""
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
    """Return all processes that can be seen here: in a sandbox, those of the job."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def _memory(processes: Sequence[int]) -> int:
    """Return the bytes that processes have of their own or share, files apart.

    What several processes share counts for each: a little, in ranks that do not set out to share memory.
    """
    kilobytes = 0
    for process in processes:
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process}/status").read_text()  # see proc(5)
            kilobytes += sum(int(found) for found in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", status, re.M))
    return 1024 * kilobytes


def _killed_for_memory() -> int:
    """Return how many processes the kernel has ended for want of memory since the machine started: see proc(5)."""
    found = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(), re.M)
    return int(found[1]) if found else 0
