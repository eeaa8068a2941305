"""Be one rank, in a process that the supervisor forked: run the script under a recorder, and send the facts.

The supervisor talks to a rank by two pipes. On one it sends the rank's environment variables, and closes it when the
rank may end. On the other the rank sends its facts, once: when its script has ended, or when it is asked to end before.
"""

import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from grader.sandboxed.recorder import Recorder
from grader.terms.job import Place, Reported


def run(place: Place) -> NoReturn:
    """Be this rank until its end."""
    status = os.EX_SOFTWARE  # which the judge recognises as a failure of its own code
    try:
        variables = os.read(place.orders, 65536)
        if variables:  # nothing comes where the job has ended before
            os.environ.update(json.loads(variables))
            _enter_host(place.script.parent)
            status = _run(place)
    finally:
        os._exit(status)


def _enter_host(folder: Path) -> None:
    """Work in the folder that is the disk of this rank's host."""
    host = folder / os.environ.get("HOROVOD_HOSTNAME", "host-0")
    host.mkdir(exist_ok=True)
    os.chdir(host)


class _Reporter:
    """Sends a rank's facts, once."""

    def __init__(self, place: Place):
        """Begin to wait for the supervisor, which may ask for them before the script has ended."""
        self.place = place
        self.sent = threading.Lock()
        threading.Thread(target=self._wait_to_be_asked, daemon=True).start()

    def send(self, facts: bytes, failed: bool) -> None:
        """Send the facts. Where they have been sent already, the supervisor is about to end this process: wait."""
        self.sent.acquire()
        with os.fdopen(self.place.facts, "wb") as file:
            file.write(msgspec.msgpack.encode(Reported(failed, facts)))

    def _wait_to_be_asked(self) -> None:
        os.read(self.place.orders, 1)
        with contextlib.suppress(AttributeError):  # where there is no recorder yet
            Recorder.latest.note_waiting()
            self.send(Recorder.latest.encoded(), failed=False)


def _run(place: Place) -> int:
    """Run the script, send its facts, wait for the others, and return the exit status."""
    # The facts end where their pipe is closed, so no process that the script leaves behind may hold it open.
    os.register_at_fork(after_in_child=lambda: os.close(place.facts))
    reporter = _Reporter(place)
    recorder = _recorded(place)
    sys.stdout.flush()
    sys.stderr.flush()
    failed = recorder.facts.error is not None
    reporter.send(recorder.encoded(), failed)
    if failed or place.cluster.tasks:
        _await_end(place)  # a rank that ends closes the others' connections, and they would fail of that first
        return int(failed)
    import horovod.tensorflow as hvd

    hvd.shutdown()
    return 0


def _await_end(place: Place) -> None:
    """Wait until the rank may end: its orders are closed then."""
    os.read(place.orders, 1)


def _recorded(place: Place) -> Recorder[Any]:
    """Run what is this rank's to run, and return its recorder."""
    # They need TensorFlow, which the fork server has imported by now.
    from grader.sandboxed import tensorflow_fixes

    tensorflow_fixes.keep_iterators()
    script = str(place.script)
    if not place.cluster.tasks:
        from grader.sandboxed import horovod_recorder

        return horovod_recorder.run(script, place.cluster, place.number, place.shared)
    from grader.sandboxed import course_tasks, task_recorder

    tensorflow_fixes.await_first_worker()
    task = place.cluster.tasks[place.number]
    if task.program:
        return course_tasks.run(str(place.script.with_name(Path(task.program).name)), task, place.number, place.shared)
    tensorflow_fixes.raise_when_data_run_out()
    tensorflow_fixes.repeat_failed_saves()
    return task_recorder.run(script, place.cluster, place.number, place.shared)
