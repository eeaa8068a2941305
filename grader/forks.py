"""Fork the ranks of a topology, and be one of them: the part of grader.ranks that happens in a rank itself."""

import json
import math
import mmap
import os
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from course import hosts, tf_config

OF_MPIRUN = "RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"  # what Open MPI tells a process in variables, too
BOARD = 120  # bytes that a rank has to write which collective it is in


@dataclass
class Rank:
    """One rank being run."""

    topology: str
    rank: int
    pid: int
    told: int  # the pipe that its variables are told by; once it closes, the rank tells its facts
    board: mmap.mmap  # shared with the rank, which writes there which collective it is in
    serves: bool = False  # and so never ends by itself
    threaded: bool = False  # it computes in TensorFlow's threads, while its main one waits
    kept: dict[str, bytearray] = field(
        default_factory=lambda: {name: bytearray() for name in ("facts", "stdout", "stderr")}
    )
    exit: int | None = None
    over: bool = False
    ended_for: str | None = None
    until: float = math.inf  # by when, of what grader.clock counts, it has to have told
    waited_in: str | None = None  # the collective that it was in when it was asked to end
    waits: bool = False  # its script failed, and said why; or it is through, and the others may need it
    ticks: int = -1  # of processor time, when last looked at
    still: float = 0  # seconds that it has done nothing, though it could have

    @property
    def collective(self) -> str:
        """The collective that the rank is in, or was in when it was asked to end, or nothing."""
        if self.waited_in is not None:
            return self.waited_in
        return self.board[:].rstrip(b"\0").decode(errors="replace")

    def result(self) -> dict:
        """Return the rank's part of the answer."""
        try:
            facts = json.loads(self.kept["facts"]) if self.kept["facts"] else None
        except ValueError:
            facts = None
        text = {name: self.kept[name].decode(errors="replace") for name in ("stdout", "stderr")}
        fields = {"exit": self.exit, "ended_for": self.ended_for, "collective": self.collective}
        return {**fields, "facts": facts, **text}


def fork(job: dict, topology: dict) -> list[Rank]:
    """Fork the ranks of a topology, each waiting to be told its variables."""
    folder = Path(job["folder"]) / (topology["after"] or topology["name"])
    folder.mkdir(exist_ok=True)
    for name, text in {job["name"]: job["script"], **job["programs"]}.items():
        (folder / name).write_text(text)
    kinds = {task["kind"] for task in topology["tasks"]}
    ranks = []
    for number in range(topology["hosts"] * topology["slots"]):
        pipes = {name: os.pipe() for name in ("facts", "stdout", "stderr", "told")}
        board = mmap.mmap(-1, BOARD)
        pid = os.fork()
        if pid == 0:
            _be_rank(number, topology, folder / job["name"], pipes, board)
        for name in ("facts", "stdout", "stderr"):
            os.close(pipes[name][1])
        os.close(pipes["told"][0])
        serves = "ps" in kinds and topology["tasks"][number]["kind"] in ("ps", "worker")
        rank = Rank(topology["name"], number, pid, pipes["told"][1], board, serves, threaded=bool(kinds))
        rank.pipes = {name: pipes[name][0] for name in ("facts", "stdout", "stderr")}
        ranks.append(rank)
    return ranks


def _be_rank(number: int, topology: dict, script: Path, pipes: dict, board: mmap.mmap) -> None:
    """Be this rank, in the forked process, and never return."""
    status = 70
    try:
        os.setsid()
        facts_fd, told_fd = pipes["facts"][1], pipes["told"][0]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(pipes["stdout"][1], 1)
        os.dup2(pipes["stderr"][1], 2)
        close_all_but(facts_fd, told_fd)
        told = os.read(told_fd, 65536)
        if not told:  # the job has ended without this topology
            return
        os.environ.update(json.loads(told))
        host = script.parent / os.environ.get("HOROVOD_HOSTNAME", "host-0")
        host.mkdir(exist_ok=True)
        os.chdir(host)
        telling = threading.Lock()
        threading.Thread(target=_tell_when_asked, args=(telling, facts_fd, told_fd), daemon=True).start()
        facts = _watched(number, topology, script, board)
        telling.acquire()
        sys.stdout.flush()
        sys.stderr.flush()
        with os.fdopen(facts_fd, "w") as file:
            json.dump(facts, file)
        if facts["error"] or topology["tasks"]:
            os.read(told_fd, 1)  # whoever goes tears the others' connections, and they would fail of that first
            status = int(bool(facts["error"]))
        else:
            import horovod.tensorflow as hvd

            hvd.shutdown()
            status = 0
    finally:
        os._exit(status)


def _tell_when_asked(telling: threading.Lock, facts_fd: int, told_fd: int) -> None:
    """Tell what is known so far, if that is asked for before this rank is through with its script; it is ended then."""
    os.read(told_fd, 1)
    if telling.acquire(blocking=False):
        from grader.notes import Notes

        with os.fdopen(facts_fd, "w") as file:
            json.dump(Notes.latest.facts, file)


def _watched(number: int, topology: dict, script: Path, board: mmap.mmap) -> dict:
    """Run what is this rank's to run, and return the facts."""
    if not topology["tasks"]:
        from grader import probe

        return probe.run(str(script), topology["arguments"], topology["gpus"], number, board)
    from grader import companions, taskprobe

    task = topology["tasks"][number]
    if task["program"]:
        program = script.with_name(Path(task["program"]).name)
        return companions.run(str(program), task["arguments"], number, board)
    dies, after = topology["dies"] or (None, 0)
    dies_after = after if number == dies else None
    return taskprobe.run(str(script), topology["arguments"], number, board, topology["gpus"], dies_after)


def variables(topology: dict) -> list[dict[str, str]]:
    """Return the environment that tells each rank who it is. After all forks: a rendezvous server has threads."""
    kinds = [task["kind"] for task in topology["tasks"]]
    if not kinds:
        hosts_, slots = topology["hosts"], topology["slots"]
        port = hosts.serve(hosts_, slots).server_port
        told = [hosts.variables(number, hosts_, slots, port) for number in range(hosts_ * slots)]
        return [rank | {f"OMPI_COMM_WORLD_{name}": rank[f"HOROVOD_{name}"] for name in OF_MPIRUN} for rank in told]
    cluster = tf_config.free_addresses({kind: kinds.count(kind) for kind in kinds if kind != "evaluator"})
    # A step that waits for what another process has to send keeps a thread, and what would bring it needs one, too.
    threads = {"TF_NUM_INTEROP_THREADS": "4"}
    return [
        threads | {"TF_CONFIG": tf_config.make(cluster, kind, kinds[:number].count(kind))}
        for number, kind in enumerate(kinds)
    ]


def let_go(ranks: list[Rank], variables: list[dict[str, str]]) -> None:
    """Tell the ranks of a topology their variables, which they wait for."""
    for rank, told in zip(ranks, variables, strict=True):
        os.write(rank.told, json.dumps(told).encode())


def close_all_but(*kept: int) -> None:
    """Close what was open before a fork, but for standard streams and these."""
    first = 3
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
