"""The seconds by which a watcher decides that something takes too long."""

import time

import psutil

from course.hosts.cluster import HostsError
from grader.budget import Budget

PULSE = 0.25  # seconds between looks


class Clock:
    """Counts the seconds in which the processes of all hosts could compute, and at least half of the time."""

    def __init__(self, limit: float):
        """Begin to count, up to a limit in seconds."""
        self.limit = limit
        self._budget = Budget()
        self._looked = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds counted so far."""
        if time.monotonic() - self._looked > PULSE:
            self._looked = time.monotonic()
            self._budget.look(psutil.pids())
        return self._budget.had

    def runs(self) -> bool:
        """Return whether the limit has not been reached yet.

        Raises:
            HostsError: it has, and other programs kept the cores from the hosts for so long that this proves nothing.
        """
        if self.seconds < self.limit:
            return True
        if self._budget.starved:
            raise HostsError("The machine is too busy with other programs to run hosts on it. Try again later.")
        return False
