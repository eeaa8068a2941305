"""A rank as its supervisor sees it: forked, given its environment, read from, looked at and ended."""

import contextlib
import json
import math
import mmap
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import msgspec

from course import tf_config
from course.internal import simulated_hosts
from grader.sandbox import policy
from grader.terms.clusters import AnyCluster
from grader.terms.facts import EndedFor
from grader.terms.job import Job, Place, Reported, Result

SHARED = 120  # bytes of memory in which a rank writes which collective it is in
STREAMS = "facts", "stdout", "stderr"
OF_MPIRUN = "RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"
POLLING = 5  # ticks, of 10 ms of processor time each, that a script that waits for a file takes per second
KEPT = {"facts": 2_000_000, "stdout": 200_000, "stderr": 200_000}  # bytes

Entry = Callable[[Place], NoReturn]  # what a rank runs


@dataclass
class RunningRank:
    """One rank being run. It is silent until release() sends its environment, and may end once it is let go."""

    cluster: AnyCluster
    number: int
    pid: int
    orders: int  # the pipe by which its environment goes to it; once it closes, the rank sends its facts and ends
    shared: mmap.mmap  # with the rank, which writes there which collective it is in
    pipes: dict[str, int]  # of each stream, by which the rank writes
    kept: dict[str, bytearray] = field(default_factory=lambda: {name: bytearray() for name in STREAMS})
    exit: int | None = None
    over: bool = False
    ended_for: EndedFor | None = None
    until: float = math.inf  # by when, in seconds of the time budget, it has to have sent its facts
    waited_in: str | None = None  # the collective that it was in when it was asked to end
    waits: bool = False  # its script failed, and said why; or it is through, and the others may need it
    ticks: int = -1  # of processor time, when last looked at
    still: float = 0.0  # seconds that it has done nothing, though it could have

    @property
    def serves(self) -> bool:
        """Whether it never ends by itself: a solution that is a parameter server, or a worker of one."""
        task = self.cluster.tasks[self.number] if self.cluster.has_servers else None
        return task is not None and task.program is not None and task.type in ("ps", "worker")

    @property
    def threaded(self) -> bool:
        """Whether it computes in TensorFlow's threads, while its main one waits."""
        return bool(self.cluster.tasks)

    @property
    def collective(self) -> str:
        """The collective that the rank is in, or was in when it was asked to end, or nothing."""
        if self.waited_in is not None:
            return self.waited_in
        return self.shared[:].rstrip(b"\0").decode(errors="replace")

    @property
    def reported(self) -> Reported | None:
        """What the rank's recorder sent, untrusted; None where that is nothing, or cannot be read."""
        try:
            return msgspec.msgpack.decode(self.kept["facts"], type=Reported)
        except msgspec.MsgspecError:
            return None

    @property
    def failed(self) -> bool:
        """Whether the rank says that an error ended its script."""
        return self.reported is not None and self.reported.failed

    def result(self) -> Result:
        """Return the rank's part of the answer."""
        stdout, stderr = (self.kept[name].decode(errors="replace") for name in ("stdout", "stderr"))
        assert self.exit is not None
        facts = self.reported.facts if self.reported else b""
        return Result(self.exit, self.ended_for, self.collective, stdout, stderr, facts)

    def keep(self, stream: str, piece: bytes) -> None:
        """Keep a piece of what the rank wrote, up to the limit; more than that ends it."""
        kept, limit = self.kept[stream], KEPT[stream]
        if len(kept) + len(piece) > limit:
            self.ended_for = self.ended_for or "output"
        kept += piece[: limit - len(kept)]

    def let_end(self) -> None:
        """Let a rank go that waits for the others; one that has not sent its facts sends them now."""
        if self.orders >= 0:
            os.close(self.orders)
            self.orders = -1

    def ask_to_end(self, reason: EndedFor, until: float) -> None:
        """End a rank that would wait indefinitely, after it has sent what it did, by that time at the latest."""
        self.waited_in = self.collective  # which the end of another rank may bring it out of
        self.ended_for, self.until = reason, until
        self.let_end()

    def reap(self) -> None:
        """Take note that the rank's process has ended."""
        self.over = True
        self.exit = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.let_end()

    def kill(self) -> None:
        """End the rank's process now."""
        os.kill(self.pid, signal.SIGKILL)
        self.reap()

    def look(self, seconds: float) -> None:
        """Add these seconds, in which the rank could have worked, to those that it has been still, or begin anew."""
        fields = ["Z"] + ["0"] * 13
        with contextlib.suppress(OSError):  # it has just ended
            of = "" if self.threaded else f"/task/{self.pid}"
            fields = Path(f"/proc/{self.pid}{of}/stat").read_text().rpartition(")")[2].split()
        state, ticks = fields[0], int(fields[11]) + int(fields[12])  # see proc(5)
        # Threads that look after connections take a tick now and then, and a script that waits for a file a few.
        few = 1 if self.threaded else 1 + int(POLLING * max(0.0, seconds))
        if ticks > self.ticks + few or (state not in "SR" and not self.threaded):
            self.still = 0.0
        elif state == "S" or self.threaded:  # one that waits for a core could not have worked, nor was it seen to
            self.still += max(0.0, seconds)
        self.ticks = ticks

    def may_run(self) -> bool:
        """Whether a thread that computes runs, or waits for a core or a disk, whatever its clocks say."""
        for thread in Path(f"/proc/{self.pid}/task").glob("*/stat" if self.threaded else f"{self.pid}/stat"):
            with contextlib.suppress(OSError):  # it has just ended
                if thread.read_text().rpartition(")")[2].split()[0] in "RD":
                    return True
        return False


def fork(job: Job, cluster: AnyCluster, entry: Entry) -> list[RunningRank]:
    """Fork the ranks of a cluster, each of which waits for its environment.

    Args:
        job: with the script.
        cluster: whose hosts have their disks in a folder, which may be that of the cluster before.
        entry: what each process runs as a rank.
    """
    hosts = Path(job.folder, cluster.folder)
    hosts.mkdir(exist_ok=True)
    for name, text in {job.name: job.script, **job.programs}.items():
        (hosts / name).write_text(text)
    ranks = []
    for number in range(cluster.size):
        pipes = {name: os.pipe() for name in (*STREAMS, "orders")}
        shared = mmap.mmap(-1, SHARED)
        place = Place(number, cluster, hosts / job.name, shared, pipes["facts"][1], pipes["orders"][0])
        pid = os.fork()
        if pid == 0:
            _be_rank(entry, place, pipes["stdout"][1], pipes["stderr"][1])
        for name in STREAMS:
            os.close(pipes[name][1])
        os.close(pipes["orders"][0])
        streams = {name: pipes[name][0] for name in STREAMS}
        ranks.append(RunningRank(cluster, number, pid, pipes["orders"][1], shared, streams))
    return ranks


def _be_rank(entry: Entry, place: Place, stdout: int, stderr: int) -> NoReturn:
    """Be the rank, in the forked process: in a session of its own, with nothing open but what it needs."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        policy.close_all_but(place.facts, place.orders)
        entry(place)
    finally:
        os._exit(os.EX_SOFTWARE)


def environments(cluster: AnyCluster) -> list[dict[str, str]]:
    """Return the environment of each rank of a cluster. After all forks: a rendezvous server has threads."""
    types = [task.type for task in cluster.tasks]
    if not types:
        port = simulated_hosts.serve(*cluster.layout).server_port
        return [_of_horovod(number, cluster, port) for number in range(cluster.size)]
    addresses = tf_config.free_addresses({type_: types.count(type_) for type_ in types if type_ != "evaluator"})
    # A step that waits for what another process has to send keeps a thread, and what would bring it needs one, too.
    threads = {"TF_NUM_INTEROP_THREADS": "4"}
    return [
        threads | {"TF_CONFIG": tf_config.make(addresses, type_, types[:number].count(type_))}
        for number, type_ in enumerate(types)
    ]


def _of_horovod(number: int, cluster: AnyCluster, port: int) -> dict[str, str]:
    """Return the environment of a rank under Horovod's launcher, with what Open MPI's would add."""
    variables = simulated_hosts.variables(simulated_hosts.slot(number, *cluster.layout), port)
    of_mpirun = {f"OMPI_COMM_WORLD_{name}": variables[f"HOROVOD_{name}"] for name in OF_MPIRUN}
    # A collective waits for Horovod's next cycle. A rank that has a core would be idle until then, for 1 ms by default.
    soon = {"HOROVOD_CYCLE_TIME": "0.3"} if cluster.size <= len(os.sched_getaffinity(0)) else {}
    return variables | of_mpirun | soon


def release(ranks: list[RunningRank], environments: list[dict[str, str]]) -> None:
    """Release the waiting ranks of a cluster by sending them their environment."""
    for rank, environment in zip(ranks, environments, strict=True):
        os.write(rank.orders, json.dumps(environment).encode())
