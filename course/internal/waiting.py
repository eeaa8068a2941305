"""Show a learner that something is being done while nothing is printed: a line with seconds, which goes by itself."""

import os
import sys
import threading
import time
from typing import Self

PATIENCE = 3.0  # seconds of silence until the line shows
PULSE = 1.0  # seconds until it shows another number
HEADLESS = "COURSE_HEADLESS", "NBGRADER_EXECUTION"  # variables of runs that no one looks at: their outputs are kept


def _is_seen() -> bool:
    """Whether someone sees what this process prints, and a carriage return takes it back: a terminal, or a notebook."""
    if any(name in os.environ for name in HEADLESS):
        return False
    return sys.stdout.isatty() or type(sys.stdout).__module__.startswith("ipykernel")


class Waiting:
    """A context manager that shows what is being done after seconds of silence."""

    def __init__(self, what: str):
        """Show this text, in the present: "2 ranks are running". Another one may be set in its place at any time."""
        self.what, self.began, self.width = what, time.monotonic(), 0
        self.lock, self.over = threading.Lock(), threading.Event()

    def __enter__(self) -> Self:
        """Begin to wait."""
        if _is_seen():
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take the line back and stop."""
        self.over.set()
        self.interrupt()

    def interrupt(self) -> None:
        """Take the line back, since something else is about to be printed, and wait anew."""
        with self.lock:
            if self.width:
                print("\r" + " " * self.width + "\r", end="", flush=True)
            self.width, self.began = 0, time.monotonic()

    def _tick(self) -> None:
        while not self.over.wait(PULSE):
            with self.lock:
                seconds = time.monotonic() - self.began
                if seconds >= PATIENCE and not self.over.is_set():
                    line = f"… {self.what}: {seconds:.0f} s"
                    print(f"\r{line:<{self.width}}", end="", flush=True)  # over all of the line before
                    self.width = len(line)
