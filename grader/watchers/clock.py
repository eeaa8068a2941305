"""The seconds by which a watcher decides that something takes too long.

They are counted outside of the sandbox, by grader.runner.watching, for all clusters of a script together: the seconds
in which its processes could compute.
"""

from pathlib import Path

from course.hosts.cluster import HostsError

BUSY = "busy"  # what follows the seconds where other programs have kept the cores from the script for too long


class Clock:
    """Runs up to a limit."""

    def __init__(self, file: Path, limit: float):
        """Begin to count.

        Args:
            file: whose text is the number of seconds so far, and BUSY or nothing.
            limit: in seconds.
        """
        self._file, self.limit = file, limit
        self._began = 0.0
        self._began = self.seconds

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return float(self._file.read_text().split()[0]) - self._began

    def runs(self) -> bool:
        """Return whether the limit has not been reached yet.

        Raises:
            HostsError: it has, on a machine that is so busy with other programs that this proves nothing.
        """
        if self.seconds < self.limit:
            return True
        if BUSY in self._file.read_text():
            raise HostsError("The machine is too busy with other programs to run hosts on it. Try again later.")
        return False
