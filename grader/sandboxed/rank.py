"""Be one rank, in a process that the supervisor forked: run the script under a recorder, and send the facts.

The supervisor talks to a rank by two pipes. On one it sends a secret and the rank's environment variables, and closes
it when the rank may end. On the other the rank sends the secret and its facts: when its script has ended, or when it is
asked to end before.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from grader.job import Place
from grader.sandboxed.recorder import Recorder


def run(place: Place) -> NoReturn:
    """Be this rank until its end."""
    status = 70
    try:
        message = os.read(place.orders, 65536)
        if message:
            secret, _, variables = message.decode().partition("{")
            os.environ.update(json.loads("{" + variables))
            _enter_host(place.script.parent)
            status = _run(place, secret)
    finally:
        os._exit(status)


def _enter_host(folder: Path) -> None:
    """Work in the folder that is the disk of this rank's host."""
    host = folder / os.environ.get("HOROVOD_HOSTNAME", "host-0")
    host.mkdir(exist_ok=True)
    os.chdir(host)


def _run(place: Place, secret: str) -> int:
    """Run the script, send its facts, wait for the others, and return the exit status."""
    sending = threading.Lock()
    threading.Thread(target=_send_when_asked, args=(sending, place, secret), daemon=True).start()
    recorder = _recorded(place)
    sending.acquire()
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(place.facts, "w") as file:
        file.write(secret + recorder.encoded())
    if recorder.facts.error or place.topology.tasks:
        os.read(place.orders, 1)  # a rank that ends closes the others' connections, and they would fail of that first
        return int(bool(recorder.facts.error))
    import horovod.tensorflow as hvd

    hvd.shutdown()
    return 0


def _recorded(place: Place) -> Recorder[Any]:
    """Run what is this rank's to run, and return its recorder."""
    from grader.sandboxed import locks  # it needs TensorFlow, which the fork server has imported by now

    locks.close()
    script = str(place.script)
    if not place.topology.tasks:
        from grader.sandboxed import horovod_recorder

        return horovod_recorder.run(script, place.topology, place.number, place.board, place.link)
    from grader.sandboxed import companions, task_recorder

    task = place.topology.tasks[place.number]
    if task.program:
        return companions.run(str(place.script.with_name(Path(task.program).name)), task, place.number, place.board)
    return task_recorder.run(script, place.topology, place.number, place.board)


def _send_when_asked(sending: threading.Lock, place: Place, secret: str) -> None:
    """Send the facts so far, if that is asked for before this rank's script has ended; the rank is killed then."""
    os.read(place.orders, 1)
    if sending.acquire(blocking=False):
        Recorder.latest.note_waiting()
        with os.fdopen(place.facts, "w") as file:  # closed in any case, also where there is no recorder yet
            file.write(secret + Recorder.latest.encoded())
