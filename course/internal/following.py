"""Follow a command while it runs: take what it prints, show a learner that it runs, and end it in time."""

import threading
from collections.abc import Callable

from course.internal.reaper import Reaped
from course.internal.waiting import Waiting


def follow(running: Reaped, what: str, timeout: float, take: Callable[[str], None]) -> int | None:
    """Follow a command until it has ended, whatever happens; return its exit status, or None if it took too long.

    Args:
        running: the command.
        what: to show in silence, as Waiting does: "2 ranks are running".
        timeout: seconds after which the command is ended.
        take: is called with each line, with its end.
    """
    timed_out = threading.Event()

    def stop() -> None:
        timed_out.set()
        running.end()

    timer = threading.Timer(timeout, stop)
    try:
        timer.start()
        with Waiting(what) as waiting:
            for line in running.output:
                waiting.interrupt()
                take(line.decode(errors="replace"))
        status = running.wait()
    finally:
        timer.cancel()
        running.close()
    return None if timed_out.is_set() else status
