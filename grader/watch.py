"""Check a learner's file whenever it is saved, and show the report in the terminal.

    python -m course watch --step 4

A file that is saved during a check is checked anew at once: the report on an older text is of no use.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Self

import watchfiles
from rich.console import Console
from rich.text import Text

from course import progress, steps
from course.internal import namespaces
from grader.judge import judge
from grader.report import text
from grader.runner.pool import Pool
from grader.sandbox import policy
from grader.terms.report import Report

SAVED = signal.SIGUSR1  # to this process, by its own thread
ENDS = 200  # milliseconds until the thread ends, at most


class SavedError(KeyboardInterrupt):
    """The file was saved during a check. The judge takes it for Ctrl-C, and ends the script."""


class Saves:
    """The versions of a file as they are saved. A context manager, in which a thread watches the file's folder.

    It watches the folder, since many editors write another file and give it the name of the old one.

    Attributes:
        ended: whether Ctrl-C was pressed.
    """

    def __init__(self, path: Path):
        """Take note of the file as it is."""
        self._path, self.ended = path.resolve(), False
        self._known = self._read()
        self._new, self._stop, self._judging = threading.Event(), threading.Event(), False
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._before = {number: signal.signal(number, self._signalled) for number in (SAVED, signal.SIGINT)}
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _read(self) -> bytes | None:
        with contextlib.suppress(OSError):
            return self._path.read_bytes()
        return None

    def _watch(self) -> None:
        changes = watchfiles.watch(self._path.parent, stop_event=self._stop, recursive=False, rust_timeout=ENDS)
        for _ in changes:
            new = self._read()
            if new is not None and new != self._known:
                self._known = new
                self._new.set()
                signal.pthread_kill(threading.main_thread().ident or 0, SAVED)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if number == SAVED:
            if self._judging:
                raise SavedError
            return
        self.ended = True
        raise KeyboardInterrupt

    def wait(self) -> None:
        """Wait for a new version."""
        while not self._new.wait(ENDS / 1000):  # without a limit, no signal would be noticed
            pass

    @property
    def is_new(self) -> bool:
        """Whether the file was saved since the last check began."""
        return self._new.is_set()

    @contextlib.contextmanager
    def judging(self) -> Iterator[None]:
        """Begin a check of the newest version, which the next one interrupts."""
        self._new.clear()
        self._judging = True
        try:
            yield
        finally:
            self._judging = False


def run(number: int, path: Path, console: Console) -> None:
    """Check a file now, and then whenever it is saved, until Ctrl-C is pressed.

    Args:
        number: the step.
        path: the learner's file.
        console: the terminal; another output is not cleared.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    with Pool() as pool, Saves(path) as saves:
        why_not = policy.available()
        pool.sandboxed = not why_not
        while True:
            console.clear()
            if why_not:
                console.print(f"No sandbox can be made here ({why_not}): your script runs unprotected.")
                console.print(namespaces.PERMIT)
            report = None
            with contextlib.suppress(SavedError), saves.judging():
                report = _check(number, path, pool, console)
            if saves.ended:
                raise KeyboardInterrupt
            if report and not saves.is_new:
                _show(report, path, console)
                saves.wait()


def _check(number: int, path: Path, pool: Pool, console: Console) -> Report:
    """Return the report on the file as it is."""
    with console.status("The check is getting ready") as status:
        return judge(
            path,
            number,
            pool,
            figure=False,
            begins=lambda cluster: status.update(f"Your script is running ({cluster})"),
        )


def _show(report: Report, path: Path, console: Console) -> None:
    """Write a report, keep it for the map, and say what comes next."""
    progress.keep_own(report.step, report.status, report.score, report.max_score, path)
    console.print(
        Text(f"{path.name}, {steps.label(report.step)}, at {time.strftime('%H:%M:%S')}\n", style="bright_black")
    )
    text.show(report, console)
    following = steps.after(steps.get(report.step)) if report.status == "passed" else None
    if following and following.has_exercise:
        console.print(f"\nNext: python -m course watch --step {following.short}")
    console.print(Text("\nSave the file to check it again. Ctrl-C ends.", style="bright_black"))
