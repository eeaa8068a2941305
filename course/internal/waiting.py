"""Show a learner that something is being done while nothing is printed: a line with seconds, which goes by itself."""

import html
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Self

PATIENCE = 3.0  # seconds of silence until the line shows
PULSE = 1.0  # seconds until it shows another number
STALE = 5  # seconds without another number until a notebook hides the line: its kernel has ended
HEADLESS = "COURSE_HEADLESS", "NBGRADER_EXECUTION"  # variables of runs that no one looks at: their outputs are kept

HIDING = "<style>@keyframes course-hides {to {visibility: hidden}}</style>"


def _in_terminal() -> Callable[[str], None]:
    """Return a function that shows a text in place of the one before it; "" takes it back."""
    width = 0

    def show(text: str) -> None:
        nonlocal width
        end = "" if text else "\r"
        if text or width:
            print(f"\r{text:<{width}}", end=end, flush=True)  # over all of the line before
        width = len(text)

    return show


def _in_notebook() -> Callable[[str], None]:
    """Return a function like that of a terminal. A carriage return would leave the line there after a restart."""
    from IPython.display import HTML, display

    shown: Any = None

    def show(text: str) -> None:
        nonlocal shown
        line = f'<span style="animation: course-hides 0s {STALE}s forwards">{html.escape(text)}</span>'
        page = HTML(f"{HIDING}{line}" if text else "")
        if shown:
            shown.update(page)
        elif text:
            shown = display(page, display_id=True)

    return show


def _place() -> Callable[[str], None] | None:
    """Return what shows a text where someone sees this process's output; None where no one does."""
    if any(name in os.environ for name in HEADLESS):
        return None
    if type(sys.stdout).__module__.startswith("ipykernel"):
        return _in_notebook()
    return _in_terminal() if sys.stdout.isatty() else None


class Waiting:
    """A context manager that shows what is being done after seconds of silence."""

    def __init__(self, what: str):
        """Show this text, in the present: "2 ranks are running". Another one may be set in its place at any time."""
        self.what, self.began, self.shows = what, time.monotonic(), False
        self.lock, self.over = threading.Lock(), threading.Event()
        self.show: Callable[[str], None] | None = None

    def __enter__(self) -> Self:
        """Begin to wait."""
        self.show = _place()
        if self.show:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take the line back and stop."""
        self.over.set()
        self.interrupt()

    def interrupt(self) -> None:
        """Take the line back, since something else is about to be printed, and wait anew."""
        with self.lock:
            if self.show and self.shows:
                self.show("")
            self.shows, self.began = False, time.monotonic()

    def _tick(self) -> None:
        while not self.over.wait(PULSE):
            with self.lock:
                seconds = time.monotonic() - self.began
                if self.show and seconds >= PATIENCE and not self.over.is_set():
                    self.shows = True
                    self.show(f"… {self.what}: {seconds:.0f} s")
