"""Check a learner's file whenever it is saved, and show the report in the terminal.

    python -m course watch --step 4
    python -m course watch --hunt 7

A file that is saved during a check is checked anew at once: the report on an older text is of no use.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Self

import watchfiles
from rich.console import Console
from rich.text import Text

from course import progress, steps
from course.hunt.cases import DIAGNOSIS, Case
from course.internal import namespaces
from grader.hunt import in_terminal
from grader.hunt.checking import check as check_hunt
from grader.judge import judge
from grader.reading.parsing import NoScriptError, UnreadableError
from grader.report import text
from grader.runner.pool import Begins, Pool
from grader.sandbox import policy

Show = Callable[[Console], None]
Check = Callable[[Pool, Begins], Show]  # returns a function that shows what was found

SAVED = signal.SIGUSR1  # to this process, by its own thread
ENDS = 200  # milliseconds until the thread ends, at most


class SavedError(KeyboardInterrupt):
    """The file was saved during a check. The judge takes it for Ctrl-C, and ends the script."""


class Saves:
    """The versions of files as they are saved. A context manager, in which a thread watches their folder.

    It watches the folder, since many editors write another file and give it the name of the old one.

    Attributes:
        ended: whether Ctrl-C was pressed.
    """

    def __init__(self, *paths: Path):
        """Take note of the files as they are; all are in one folder."""
        self._paths, self.ended = [path.resolve() for path in paths], False
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

    def _read(self) -> list[bytes] | None:
        with contextlib.suppress(OSError):
            return [path.read_bytes() for path in self._paths]
        return None

    def _watch(self) -> None:
        folder = self._paths[0].parent
        changes = watchfiles.watch(folder, stop_event=self._stop, recursive=False, rust_timeout=ENDS)
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


def run(check: Check, console: Console, *paths: Path) -> None:
    """Check files now, and then whenever one is saved, until Ctrl-C is pressed.

    Args:
        check: judges the files as they are.
        console: the terminal; another output is not cleared.
        paths: the files, all in one folder.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    with Pool() as pool, Saves(*paths) as saves:
        why_not = policy.available()
        pool.sandboxed = not why_not
        while True:
            console.clear()
            if why_not:
                console.print(f"No sandbox can be made here ({why_not}): your script runs unprotected.")
                console.print(namespaces.PERMIT)
            found = None
            with (
                contextlib.suppress(SavedError),
                saves.judging(),
                console.status("The check is getting ready") as status,
            ):
                found = check(pool, lambda cluster: status.update(f"Your script is running ({cluster})"))
            if saves.ended:
                raise KeyboardInterrupt
            if found and not saves.is_new:
                console.print(Text(f"{paths[0].name}, at {time.strftime('%H:%M:%S')}\n", style="bright_black"))
                found(console)
                console.print(Text("\nSave the file to check it again. Ctrl-C ends.", style="bright_black"))
                saves.wait()


def of_step(number: int, path: Path) -> Check:
    """Return the check of a step for a file, which keeps the result for the map and says what comes next."""

    def check(pool: Pool, begins: Begins) -> Show:
        report = judge(path, number, pool, figure=False, begins=begins)

        def shown(console: Console) -> None:
            progress.keep_own(report.step, report.status, report.score, report.max_score, path)
            text.show(report, console)
            following = steps.after(steps.get(report.step)) if report.status == "passed" else None
            if following and following.has_exercise:
                console.print(f"\nNext: python -m course watch --step {following.short}")

        return shown

    return check


def of_hunt(case: Case) -> Check:
    """Return the check of a case of the hunt."""

    def check(pool: Pool, begins: Begins) -> Show:
        try:
            found = check_hunt(case, pool, begins)
        except (UnreadableError, NoScriptError) as error:
            message = f"{DIAGNOSIS}: {error}"
            return lambda console: console.print(message, markup=False)
        return lambda console: in_terminal.verdict(found, console)

    return check
