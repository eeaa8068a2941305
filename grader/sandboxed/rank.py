"""Be one rank, in a process that the supervisor forked: run the script under a recorder, and send the facts.

The supervisor talks to a rank by two pipes. On one it sends a secret and the rank's environment variables, and closes
it when the rank may end. On the other the rank sends the secret and its facts: when its script has ended, or when it is
asked to end before.
"""

import json
import mmap
import os
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from grader.job import Topology
from grader.sandboxed.recorder import Recorder


def run(
    number: int,
    topology: Topology,
    script: Path,
    board: mmap.mmap,
    facts_fd: int,
    orders_fd: int,
    link: int | None,
) -> NoReturn:
    """Be this rank until its end.

    Args:
        number: the rank.
        topology: the cluster that it is part of.
        script: to run; the folder above it is the cluster's.
        board: memory shared with the supervisor, to show the collective that the rank is in.
        facts_fd: the pipe for the facts.
        orders_fd: the pipe from which the rank's environment comes, as JSON; nothing comes where the job has ended.
        link: the socket to a witness, if the topology has one.
    """
    status = 70
    try:
        message = os.read(orders_fd, 65536)
        if message:
            secret, _, variables = message.decode().partition("{")
            os.environ.update(json.loads("{" + variables))
            _enter_host(script.parent)
            status = _run(number, topology, script, board, facts_fd, orders_fd, link, secret)
    finally:
        os._exit(status)


def _enter_host(folder: Path) -> None:
    """Work in the folder that is the disk of this rank's host."""
    host = folder / os.environ.get("HOROVOD_HOSTNAME", "host-0")
    host.mkdir(exist_ok=True)
    os.chdir(host)


def _run(
    number: int,
    topology: Topology,
    script: Path,
    board: mmap.mmap,
    facts_fd: int,
    orders_fd: int,
    link: int | None,
    secret: str,
) -> int:
    """Run the script, send its facts, wait for the others, and return the exit status."""
    sending = threading.Lock()
    threading.Thread(target=_send_when_asked, args=(sending, facts_fd, orders_fd, secret), daemon=True).start()
    recorder = _recorded(number, topology, script, board, link)
    sending.acquire()
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(facts_fd, "w") as file:
        file.write(secret + recorder.encoded())
    if recorder.facts.error or topology.tasks:
        os.read(orders_fd, 1)  # a rank that ends closes the others' connections, and they would fail of that first
        return int(bool(recorder.facts.error))
    import horovod.tensorflow as hvd

    hvd.shutdown()
    return 0


def _recorded(number: int, topology: Topology, script: Path, board: mmap.mmap, link: int | None) -> Recorder[Any]:
    """Run what is this rank's to run, and return its recorder."""
    from grader.sandboxed import locks  # it needs TensorFlow, which the fork server has imported by now

    locks.close()
    if not topology.tasks:
        from grader.sandboxed import horovod_recorder

        return horovod_recorder.run(str(script), topology, number, board, link)
    from grader.sandboxed import companions, task_recorder

    task = topology.tasks[number]
    if task.program:
        return companions.run(str(script.with_name(Path(task.program).name)), task, number, board)
    return task_recorder.run(str(script), topology, number, board)


def _send_when_asked(sending: threading.Lock, facts_fd: int, orders_fd: int, secret: str) -> None:
    """Send the facts so far, if that is asked for before this rank's script has ended; the rank is killed then."""
    os.read(orders_fd, 1)
    if sending.acquire(blocking=False):
        Recorder.latest.note_waiting()
        with os.fdopen(facts_fd, "w") as file:  # closed in any case, also where there is no recorder yet
            file.write(secret + Recorder.latest.encoded())
