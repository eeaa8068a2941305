"""An elastic training on hosts: the commits that it logs, and what is done to the hosts at a given commit."""

import csv
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.hosts.cluster import Cluster

PULSE = 0.02  # seconds between looks at the log


@dataclass(frozen=True)
class Commit:
    """A line of commits.csv.

    Attributes:
        time: of the commit, in seconds since the epoch of time.time().
        ranks: how many there were.
        epoch: the number of the epoch, from 0 on.
        seen: images of this epoch that the training has seen.
        loss: mean of the steps since the commit before.
    """

    time: float
    ranks: int
    epoch: int
    seen: int
    loss: float


@dataclass(frozen=True)
class Event:
    """What is to be done to a host.

    Attributes:
        after: says of the latest commit whether now is the time.
        do: a method of the cluster's: kill, pull_cable, revive.
        host: its name.
        seconds: to wait then, so that it happens between two commits.
    """

    after: Callable[[Commit], bool]
    do: str
    host: str
    seconds: float = 0.0


@dataclass(frozen=True)
class Training:
    """How a training went.

    Attributes:
        status: its exit status.
        printed: what it printed.
        commits: all that it logged.
        happened: the events, with their times as for commits.
    """

    status: int
    printed: str
    commits: list[Commit]
    happened: list[tuple[float, Event]]


def commits(log_dir: Path) -> list[Commit]:
    """Return the commits that a training has logged so far.

    Args:
        log_dir: its folder for logs.
    """
    path = log_dir / "commits.csv"
    text = path.read_text() if path.exists() else ""
    rows = csv.reader(line for line in text.splitlines(keepends=True) if line.endswith("\n"))
    return [
        Commit(float(when), int(ranks), int(epoch), int(seen), float(loss)) for when, ranks, epoch, seen, loss in rows
    ]


def train(cluster: Cluster, command: str, log_dir: Path, events: Sequence[Event], **options: Any) -> Training:
    """Run a command on the head, and let events happen to the hosts, one after another.

    Args:
        cluster: the hosts.
        command: a line for a shell.
        log_dir: the training's folder for logs, as seen from outside.
        events: each happens once, after the one before it.
        options: as for Cluster.run().

    Raises:
        TimeoutExpired: as Cluster.run() does.
    """
    happened: list[tuple[float, Event]] = []
    ended = threading.Event()

    def disturb() -> None:
        for event in events:
            while not (seen := commits(log_dir)) or not event.after(seen[-1]):
                if ended.wait(PULSE):
                    return
            time.sleep(event.seconds)
            happened.append((time.time(), event))
            getattr(cluster, event.do)(event.host)

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        done = cluster.run(["bash", "-c", command], **options)
    finally:
        ended.set()
        disturbing.join()
    return Training(done.returncode, done.stdout, commits(log_dir), happened)
