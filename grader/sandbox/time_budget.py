"""Time budget of a run: counts the time its ranks could compute, not the time other processes kept the cores."""

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

SLOWEST = 0.5  # of all time counts in any case: processes that keep the cores from each other do not stop the count
LATER = b"\n"  # written before the answer for each second that did not count: no JSON on one line has it
TURN = b"\t"  # written before each of a job's turns; no JSON without indentation has it


class Budget:
    """Counts the seconds that processes could compute: all but those in which they waited for cores that others kept.

    The longest wait of any thread is what does not count, as the other threads may need that one. While the processes
    themselves keep all cores busy, all time counts.
    """

    def __init__(self, later: Callable[[], object] = lambda: None, slowest: float = SLOWEST):
        """Begin to count, call later for each second that does not count, and count at least this share of the time."""
        self.later, self.slowest = later, slowest
        self.had = 0.0  # seconds
        self.lost = 0.0  # seconds that did not count
        # Seconds that each process's threads waited for cores, between the last two looks.
        self.waited: defaultdict[int, float] = defaultdict(float)
        self.looked = time.monotonic()
        self._kept_waiting = 0.0  # seconds that did not count, and for which later was not called yet
        # Seconds that each thread had run and waited when last looked at.
        self._seen: dict[str, tuple[float, float]] = {}

    def look(self, processes: Iterable[int]) -> float:
        """Count the time since the last look, in which there were these processes, and return its seconds."""
        now, before = time.monotonic(), self._seen
        seconds, self.looked, self._seen, self.waited = now - self.looked, now, {}, defaultdict(float)
        ran = 0.0
        longest = 0.0
        for process in processes:
            for thread in _threads(process):
                with contextlib.suppress(OSError):  # it has just ended
                    now_ran, now_waited = (int(text) / 1e9 for text in (thread / "schedstat").read_text().split()[:2])
                    had_ran, had_waited = before.get(thread.name, (0.0, 0.0))
                    self._seen[thread.name] = now_ran, now_waited
                    ran += now_ran - had_ran
                    longest = max(longest, now_waited - had_waited)
                    self.waited[process] += now_waited - had_waited
        counts = min(seconds, max(seconds - longest, ran / len(os.sched_getaffinity(0)), self.slowest * seconds))
        self.had += counts
        self.lost += seconds - counts
        self._kept_waiting += seconds - counts
        while self._kept_waiting >= 1:
            self.later()
            self._kept_waiting -= 1
        return seconds


def _threads(process: int) -> list[Path]:
    """Return the threads of a process, which may have ended."""
    try:
        return list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return []
