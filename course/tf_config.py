"""Make and check TF_CONFIG, the environment variable with the cluster and the task of a process.

TensorFlow does not check it: if it is wrong, processes wait for each other, mostly indefinitely. check() ends them with
a line that says what is wrong.
"""

import errno
import json
import os
import socket
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

PATIENCE = 30  # seconds until the other tasks of a cluster have to answer
HOST = "127.0.0.1"
KINDS = ("chief", "worker", "ps", "evaluator")

_held: list[socket.socket] = []  # mark this process's task as taken until the process ends


class TaskError(SystemExit):
    """TF_CONFIG cannot be used; the message says why. Ends a program with that line alone."""


def make(cluster: dict[str, list[str]], kind: str, index: int) -> str:
    """Return the text of TF_CONFIG for one task of a cluster, {"worker": ["host:port", …], …}."""
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


def free_addresses(counts: dict[str, int]) -> dict[str, list[str]]:
    """Return addresses on this machine, with free ports: {"worker": 2} gives {"worker": ["host:port", "host:port"]}."""
    with ExitStack() as stack:  # all ports are held until the last is found, or one could be found twice

        def address() -> str:
            held = stack.enter_context(socket.socket())
            held.bind((HOST, 0))
            return f"{HOST}:{held.getsockname()[1]}"

        return {kind: [address() for _ in range(count)] for kind, count in counts.items()}


def check(patience: float = PATIENCE) -> tuple[str, int]:
    """Check this process's TF_CONFIG and its port, then check in a thread that the tasks it needs answer.

    Call it before TensorFlow reads the variable. A process without TF_CONFIG is a cluster of its own. If some tasks do
    not answer in time, the thread ends the process with a line that names them.

    Args:
        patience: seconds until the other tasks have to answer.

    Returns:
        The kind and the index of the task: ("worker", 0) without TF_CONFIG.

    Raises:
        TaskError: TF_CONFIG is malformed, does not contain its task, or another process has the task or its port.
    """
    text = os.environ.get("TF_CONFIG")
    if text is None:
        return "worker", 0
    cluster, kind, index = _parse(text)
    if kind == "evaluator":
        return kind, index
    _take(f"{kind} {index}", cluster[kind][index])
    needed = {
        f"{other} {number}": address
        for other, addresses in cluster.items()
        for number, address in enumerate(addresses)
        if (other, number) != (kind, index) and (kind == "chief" or "ps" not in cluster) and other != "evaluator"
    }
    threading.Thread(target=_look_for, args=[f"{kind} {index}", needed, patience], daemon=True).start()
    return kind, index


def _parse(text: str) -> tuple[dict[str, list[str]], str, int]:
    """Return the cluster, and the kind and index of the task."""
    try:
        config = json.loads(text)
    except ValueError as error:
        raise TaskError(f"TF_CONFIG is not JSON: {error}. It is: {text}") from None
    if not isinstance(config, dict) or not isinstance(config.get("cluster"), dict):
        raise TaskError(f'TF_CONFIG has no "cluster", which lists the addresses of all tasks. It is: {text}')
    cluster, task = config["cluster"], config.get("task")
    taken: dict[str, str] = {}
    for kind, addresses in cluster.items():
        if kind not in KINDS or not isinstance(addresses, list):
            raise TaskError(f'TF_CONFIG\'s cluster has "{kind}": there are lists of addresses for {", ".join(KINDS)}.')
        for number, address in enumerate(addresses):
            host, _, port = str(address).rpartition(":")
            if not host or not port.isdigit() or not 0 < int(port) < 65536:
                raise TaskError(f"TF_CONFIG: {kind} {number} has the address {address!r}; it should be host:port.")
            if address in taken:
                raise TaskError(f"TF_CONFIG: {taken[address]} and {kind} {number} have the same address, {address}.")
            taken[address] = f"{kind} {number}"
    if not isinstance(task, dict) or not isinstance(task.get("type"), str) or type(task.get("index")) is not int:
        raise TaskError(
            f'TF_CONFIG has no "task" with a "type" and an "index", which this process needs. It is: {text}'
        )
    kind, index = task["type"], task["index"]
    if kind == "evaluator":
        return cluster, kind, index
    if kind not in cluster:
        raise TaskError(f'TF_CONFIG: this process is a "{kind}", and the cluster has {", ".join(cluster)} alone.')
    if not 0 <= index < len(cluster[kind]):
        raise TaskError(
            f"TF_CONFIG: this process is {kind} {index}, and the cluster has {len(cluster[kind])} of that kind, "
            "counted from 0."
        )
    return cluster, kind, index


def _take(task: str, address: str) -> None:
    """Mark the task as taken, and check that its port is free. TensorFlow's server would share it."""
    mark = socket.socket(socket.AF_UNIX)
    try:
        mark.bind(f"\0tf_config {address}")
    except OSError:
        raise TaskError(
            f"TF_CONFIG: {task} of this cluster, {address}, is already running here. Every process has an index of "
            "its own."
        ) from None
    _held.append(mark)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # allow ports in TIME_WAIT
        try:
            probe.bind(("", int(address.rpartition(":")[2])))
        except OSError as error:
            if error.errno == errno.EADDRINUSE and _listens(int(address.rpartition(":")[2])):
                reason = "this process listens there already. Call check() before TensorFlow starts its server."
            elif error.errno == errno.EADDRINUSE:
                reason = "its port is in use by another program. Choose another one, in every process's TF_CONFIG."
            else:
                reason = f"its port cannot be used: {error.strerror}."
            raise TaskError(f"TF_CONFIG: {task} is to listen at {address}, and {reason}") from None


def _listens(port: int) -> bool:
    """Return whether this process itself has a socket that listens at a port, as TensorFlow's server does."""
    sockets = set()
    for table in (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6")):
        with suppress(OSError):
            rows = [line.split() for line in table.read_text().splitlines()[1:]]
            sockets |= {row[9] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")}  # see proc(5)
    held = set()
    with suppress(OSError):
        for descriptor in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                held.add(str(descriptor.readlink()))
    return any(f"socket:[{inode}]" in held for inode in sockets)


def _look_for(task: str, needed: dict[str, str], patience: float) -> None:
    """Wait until each of these tasks has answered once; end the process if one has not after patience seconds."""
    deadline = time.monotonic() + patience
    while needed and time.monotonic() < deadline:
        for other, address in list(needed.items()):
            host, _, port = address.rpartition(":")
            with suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
                del needed[other]
        time.sleep(0.2)
    if needed:
        missing = " and ".join(f"{other} at {address}" for other, address in needed.items())
        print(
            f"TF_CONFIG: {task} has waited {patience:g} s for {missing}, without an answer. Is it running, with the "
            "same cluster in its TF_CONFIG, and does the network allow the connection?",
            file=sys.stderr,
            flush=True,
        )
        os._exit(1)
