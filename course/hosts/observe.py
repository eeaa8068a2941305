"""What runs on the hosts, and what a training step costs there: seen from outside, while a program runs on them."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from course.hosts.cluster import Cluster, HostsError


@dataclass(frozen=True)
class StepCost:
    """What a training step costs, on average over an epoch; see step_cost().

    Attributes:
        seconds: that it takes.
        received: bytes that the host receives in it, by interface.
    """

    seconds: float
    received: dict[str, float]


@dataclass(frozen=True)
class Ending:
    """How a training ends after a fault.

    Attributes:
        seconds: from the fault to the end.
        by_itself: False if it had to be ended.
        printed: the lines that it printed after the fault.
    """

    seconds: float
    by_itself: bool
    printed: list[str]


def tree(cluster: Cluster) -> dict[str, list[tuple[int, str]]]:
    """Return the processes of each host that is up, by host: how many parents one has there, and its command.

    Each comes after its parent.

    Args:
        cluster: the hosts.
    """
    return {host: _ordered(processes) for host, processes in cluster.processes().items()}


def _ordered(processes: list[psutil.Process]) -> list[tuple[int, str]]:
    described = {}
    for process in processes:
        try:
            described[process.pid] = (process.ppid(), _short(process.cmdline()))
        except psutil.Error:
            continue  # it has ended
    found = []

    def add(pid: int, depth: int) -> None:
        found.append((depth, described[pid][1]))
        for child in sorted(each for each, (parent, _) in described.items() if parent == pid):
            add(child, depth + 1)

    for pid in sorted(each for each, (parent, _) in described.items() if parent not in described):
        add(pid, 0)
    return found


def _short(words: list[str]) -> str:
    """Return a command without the folders of its files; a script that is a program of its own stands for itself."""
    names = [Path(word).name if word.startswith(("/", "../")) else word for word in words]
    if "ssh.py" in names:
        return " ".join(["ssh", *names[names.index("ssh.py") + 1 :]])
    return " ".join(names)


def step_cost(cluster: Cluster, command: str, images: int, steps: int) -> StepCost:
    """Run a training on the hosts, and return what a step costs on the first of them.

    The seconds are those of the fastest epoch, since the others may share the cores with other programs. The bytes are
    those of the last one.

    The program prints "Epoch 3/3" when the last epoch begins and "Epoch 3: 500 images/sec" when it ends, as
    fashion_mnist.py does.

    Args:
        cluster: the hosts.
        command: the command line, for a shell on the head. It is printed.
        images: that all ranks together train on in an epoch.
        steps: of an epoch.

    Raises:
        HostsError: the training failed, or has no such epoch; the message has its output.
    """
    counts: list[dict[str, int]] = []
    rates: list[int] = []

    def look(line: str) -> None:
        printed = re.search(r"Epoch \d+: (\d+) images/sec", line)
        if re.search(r"Epoch (\d+)/\1$", line) or (printed and counts):
            counts.append(cluster.received(cluster.hosts[0]))
        if printed:
            rates.append(int(printed[1]))

    done = cluster.shell(command, say=look)
    if done.returncode or len(counts) != 2:
        raise HostsError(f"The training could not be measured:\n{done.stdout}")
    before, after = counts
    return StepCost(images / max(rates) / steps, {name: (after[name] - before[name]) / steps for name in after})


def after_a_pull(cluster: Cluster, command: str, host: str, *, timeout: float) -> Ending:
    """Run a training on the hosts, pull the cable of one of them in its second epoch, and return how it ends.

    Args:
        cluster: the hosts.
        command: the command line, for a shell on the head. It is printed.
        host: whose cable is pulled. It is plugged in again after the run.
        timeout: seconds after which the training is ended.

    Raises:
        HostsError: the training ended before its second epoch; the message has its output.
    """
    pulled = 0.0
    printed: list[str] = []

    def look(line: str) -> None:
        nonlocal pulled
        if pulled:
            printed.append(line)
        elif re.search(r"Epoch 2/", line):
            cluster.pull_cable(host)
            pulled = time.monotonic()

    ends = True
    try:
        output = cluster.shell(command, say=look, timeout=timeout).stdout
    except subprocess.TimeoutExpired as error:
        ends, output = False, str(error.output)
    if not pulled:
        raise HostsError(f"The training has no second epoch:\n{output}")
    seconds = time.monotonic() - pulled
    cluster.revive(host)
    return Ending(seconds, ends, printed)
