"""Be one rank, in a process that the supervisor forked: run the script under a recorder, and send the facts.

The supervisor talks to a rank by two pipes. On one it sends a secret and the rank's environment variables, and closes
it when the rank may end. On the other the rank sends the secret and its facts: when its script has ended, or when it is
asked to end before.

A script that knows the secret could send facts of its own. So one thread alone has it, in a variable of a function that
no object leads to: not the frames that called the script, not the thread, not its arguments.
"""

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

from grader.terms.job import Place
from grader.sandboxed.recorder import Recorder

Facts = SimpleQueue[tuple[str, bool]]  # as JSON, and whether the script has ended


def run(place: Place) -> NoReturn:
    """Be this rank until its end."""
    status = os.EX_SOFTWARE  # which grader.deciding takes for a failure of the judge's own code
    try:
        variables, send = _begin_reporting(place)
        os.environ.update(json.loads(variables))
        _enter_host(place.script.parent)
        status = _run(place, send)
    finally:
        os._exit(status)


def _enter_host(folder: Path) -> None:
    """Work in the folder that is the disk of this rank's host."""
    host = folder / os.environ.get("HOROVOD_HOSTNAME", "host-0")
    host.mkdir(exist_ok=True)
    os.chdir(host)


def _begin_reporting(place: Place) -> tuple[bytes, Callable[[str], None]]:
    """Start the thread that has the secret, and return the rank's variables, as JSON, and what sends its facts, once.

    The process ends here where the job has ended before.
    """
    told: SimpleQueue[bytes] = SimpleQueue()
    facts: Facts = SimpleQueue()
    sent = threading.Event()

    def report() -> None:
        secret, _, variables = os.read(place.orders, 65536).partition(b"{")
        if not variables:
            os._exit(os.EX_SOFTWARE)
        told.put(b"{" + variables)
        threading.Thread(target=lambda: _wait_to_be_asked(place.orders, facts), daemon=True).start()
        encoded, ended = facts.get()
        with os.fdopen(place.facts, "wb") as file:
            file.write(secret + encoded.encode())
        if ended:
            sent.set()

    def send(encoded: str) -> None:
        facts.put((encoded, True))
        sent.wait()  # indefinitely, if the facts so far were sent before: the rank is killed then

    threading.Thread(target=report, daemon=True).start()
    return told.get(), send


def _wait_to_be_asked(orders: int, facts: Facts) -> None:
    """Send the facts so far if that is asked for before this rank's script has ended."""
    os.read(orders, 1)
    encoded = ""  # where there is no recorder yet
    with contextlib.suppress(AttributeError):
        Recorder.latest.note_waiting()
        encoded = Recorder.latest.encoded()
    facts.put((encoded, False))


def _run(place: Place, send: Callable[[str], None]) -> int:
    """Run the script, send its facts, wait for the others, and return the exit status."""
    recorder = _recorded(place)
    sys.stdout.flush()
    sys.stderr.flush()
    send(recorder.encoded())
    if recorder.facts.error or place.topology.tasks:
        os.read(place.orders, 1)  # a rank that ends closes the others' connections, and they would fail of that first
        return int(bool(recorder.facts.error))
    import horovod.tensorflow as hvd

    hvd.shutdown()
    return 0


def _recorded(place: Place) -> Recorder[Any]:
    """Run what is this rank's to run, and return its recorder."""
    # They need TensorFlow, which the fork server has imported by now.
    from grader.sandboxed import arrays, iterators, locks

    locks.close()
    arrays.copy_arrays()
    iterators.keep_iterators()
    script = str(place.script)
    if not place.topology.tasks:
        from grader.sandboxed import horovod_recorder

        return horovod_recorder.run(script, place.topology, place.number, place.board, place.link)
    from grader.sandboxed import leader, shortages, task_recorder
    from grader.sandboxed import course_tasks

    leader.await_leader()
    task = place.topology.tasks[place.number]
    if task.program:
        return course_tasks.run(str(place.script.with_name(Path(task.program).name)), task, place.number, place.board)
    shortages.raise_shortages()
    return task_recorder.run(script, place.topology, place.number, place.board)
