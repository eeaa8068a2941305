"""The seconds by which a watcher decides that something takes too long.

They are counted outside of the sandbox, by grader.runner.watched_run, for all clusters of a script together: the
seconds in which its processes could compute.
"""

import time
from collections.abc import Callable
from pathlib import Path

from course.hosts.cluster import HostsError

# By how many times more than counts may be what does not, as other programs kept the cores from the script, before
# the machine is too busy: then a script that needs half of its time where it has all cores is never called late.
STARVED = 1.5
PULSE = 0.1  # seconds between looks


class Clock:
    """Runs up to a limit."""

    def __init__(self, file: Path, limit: float):
        """Begin to count.

        Args:
            file: whose text is the number of seconds so far, and the number of those that do not count.
            limit: in seconds.
        """
        self._file, self.limit = file, limit
        self._began, _ = self._read()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return self._read()[0] - self._began

    @property
    def slowdown(self) -> float:
        """How many times as long as on a machine that has nothing else to do all has taken, since the sandbox began."""
        had, lost = self._read()
        return 1 + lost / had if had else 1

    @property
    def busy(self) -> bool:
        """Whether the machine is so busy with other programs that seconds prove nothing."""
        return self.slowdown > 1 + STARVED

    def until(self, true: Callable[[], bool]) -> bool:
        """Wait until something is true, and return whether it is: False where the limit comes first.

        Raises:
            HostsError: as runs() does.
        """
        while not (found := true()) and self.runs():
            time.sleep(PULSE)
        return found

    def runs(self) -> bool:
        """Return whether the limit has not been reached yet.

        Raises:
            HostsError: it has, on a machine that is so busy with other programs that this proves nothing.
        """
        if self.seconds < self.limit:
            return True
        self.check()
        return False

    def check(self) -> None:
        """Do nothing, unless the machine is so busy with other programs that a failure proves nothing.

        Raises:
            HostsError: it is.
        """
        if self.busy:
            raise HostsError("The machine is too busy with other programs to run hosts on it. Try again later.")

    def _read(self) -> tuple[float, float]:
        had, lost = self._file.read_text().split()
        return float(had), float(lost)
