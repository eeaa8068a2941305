"""Read what a run answered: each rank's facts are decoded once, into types. Facts of another shape count as none."""

import re
from collections.abc import Sequence

import msgspec

from grader.terms.clusters import AnyCluster, TaskType, Watched
from grader.terms.facts import ARGUMENTS, Disk, Error
from grader.terms.job import Answer, Result
from grader.terms.runs import Cause, Facts, Rank, Runs

# Libraries say what an error means in a class or, where an error crosses from C++, in a constant text. A rank's own
# error is looked at, and its standard error where it could not report any.
CAUSES: tuple[tuple[Cause, str], ...] = (
    ("shut down", r"Horovod has been shut down"),  # a rank ended while this one waited in a collective
    ("mismatch", r"Mismatched"),  # ranks met in different collectives
    ("connection", r"HorovodInternalError|gloo|UnavailableError"),  # another process of the cluster is gone
    ("task taken", r"is already running here"),  # course.tf_config: two processes do the same task
    ("port taken", r"this process listens there already"),  # course.tf_config: a server of its own has the port
    ("no file", r"FileNotFoundError"),
    ("no steps", r"`steps_per_epoch`\. Received value is 0"),  # Keras', where a share is rounded down to nothing
    ("store", r"StoreError"),  # of course.store
    ("late strategy", r"Collective ops must be configured at program startup"),
    ("late GPU", r"(Visible|Physical) devices cannot be modified after"),
    ("no CPU", r"No CPU devices are available"),
    ("locked", r"unable to lock file"),  # HDF5's, where two processes write one file
    ("no checkpoint", r"(?i)no checkpoint"),
)
LONGEST = 4000  # characters of an error that are looked through


def read(answer: Answer, clusters: Sequence[AnyCluster], kind: type[Facts]) -> Runs[Facts]:
    """Return the runs that an answer is about, with facts of one kind."""
    runs: Runs[Facts] = Runs({}, traffic=answer.traffic)
    for cluster in clusters:
        results = answer.clusters.get(cluster.name)
        if results is None:
            continue
        numbers = [0] if isinstance(cluster, Watched) else range(cluster.size)
        ranks = [_rank(number, cluster, result, kind) for number, result in zip(numbers, results, strict=False)]
        for rank in ranks:
            rank.found = _disk(answer, getattr(cluster, "after", ""), rank.host)
            rank.left = _disk(answer, cluster.name, rank.host)
        if cluster.tasks:  # a solution that does another task of the cluster is not judged
            ranks = [rank for rank in ranks if not cluster.tasks[rank.number].program]
        (runs.reserved if cluster.reserved else runs.clusters)[cluster.name] = ranks
    return runs


def _disk(answer: Answer, cluster: str, host: int) -> Disk:
    """Return what a host's disk held after the ranks of a cluster ended; an empty one where none was looked at."""
    disks = answer.disks.get(cluster, [])
    return disks[host] if host < len(disks) else Disk()


def _rank(number: int, cluster: AnyCluster, result: Result, kind: type[Facts]) -> Rank[Facts]:
    rank = Rank(
        number=number,
        host=cluster.place(number)[0],
        name="The script" if isinstance(cluster, Watched) else _name(number, [task.type for task in cluster.tasks]),
        cluster=cluster.description,
        exit=result.exit,
        ended_for=result.ended_for,
        collective=result.collective,
        stdout=result.stdout,
        stderr=result.stderr,
        facts=kind(),
    )
    try:
        rank.facts = msgspec.msgpack.decode(result.facts, type=kind)
        rank.reported = True
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    if rank.facts.error:
        _describe(rank, rank.facts.error)
    text = rank.error or rank.stderr
    rank.causes = frozenset(cause for cause, pattern in CAUSES if re.search(pattern, text))
    return rank


def _describe(rank: Rank[Facts], error: Error) -> None:
    """Put a rank's error into words."""
    rank.error_kind, rank.error_line = error.kind, error.line
    if error.kind == ARGUMENTS:
        rank.error = (
            "it does not accept the arguments of this step's program; is one renamed, or is it another step's file? "
            f"{error.message}"
        )
    elif error.kind != "SystemExit":
        rank.error = f"{error.kind}: {_steady(error.message)}".removesuffix(": ")  # some have no message
    elif re.fullmatch(r"\d*", error.message):
        rank.error = f"it exits with status {error.message}"
    else:
        rank.error = error.message
    rank.error = rank.error[:500]
    rank.traceback = _steady(error.traceback)


def _name(number: int, types: list[TaskType]) -> str:
    if not types:
        return f"Rank {number}"
    name = types[number].capitalize()
    return name if types.count(types[number]) == 1 else f"{name} {types[:number].count(types[number])}"


def _steady(text: str) -> str:
    """Return an error's text without what differs from run to run: nodes' names, values, ports, who was first."""

    def in_order(found: re.Match[str]) -> str:
        one, other = sorted((found[2], found[4]))
        return f"{found[1]}{one}, but another rank {found[3]}{other}."

    text = text[:LONGEST]
    text = re.sub(r"\d+ root error\(s\) found\.\n *\(0\) (.*)[\s\S]*", r"\1\n", text)  # of several workers, maybe
    text = re.sub(r"\n?\s*\[\[{{.*?}}]]|{{.*?}} ?|(?<= object) at 0x[0-9a-f]+", "", text)
    text = re.sub(r"\barray\(\[[^()]*\)?", "array(…)", text)
    text = re.sub(r"(?<=127\.0\.0\.1):\d+", "", text)
    text = re.sub(r'(?m)^ *(Additional GRPC error information|:{"created":).*\n?', "", text)
    return re.sub(r"(One rank [^.]*? )(\[[^]]*]|\S+), but another rank ([^.]*? )(\[[^]]*]|\S+)\.", in_order, text)
