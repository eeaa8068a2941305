"""A script that a watcher starts on the head of a cluster, with what it prints and how it ends."""

import os
import threading
from collections.abc import Mapping, Sequence

import msgspec

from course.hosts.cluster import Cluster
from grader.terms.facts import EndedFor
from grader.terms.job import Result
from grader.watchers.mpi_program import OUTPUT

FLOOD = 500_000  # bytes that no script prints


class HeadScript:
    """A script that runs.

    Attributes:
        printed: what it has printed so far.
        ended_for: why it had to be ended, if so.
    """

    def __init__(self, cluster: Cluster, command: Sequence[str], variables: Mapping[str, str]):
        """Start it, and read what it prints."""
        self._process = cluster.start(command, variables=variables)
        self.printed = b""
        self.ended_for: EndedFor | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while piece := os.read(self._process.output.fileno(), 65536):
            self.printed += piece
            if len(self.printed) > FLOOD:
                self.ended_for = "output"
                return

    @property
    def over(self) -> bool:
        """Whether the script and all that it keeps on the head have ended, or it prints endlessly."""
        return not self._reader.is_alive()

    def end(self) -> int:
        """End it, if it has not ended by itself, and return its exit status."""
        if not self.over:
            self.ended_for = "time"
        if self.ended_for:
            self._process.end()
        return self._process.wait()

    def result(self, facts: msgspec.Struct) -> Result:
        """Return how it ended, with what was seen of it. It has to have ended."""
        printed = self.printed[-OUTPUT:].decode(errors="replace")
        return Result(self._process.wait(), self.ended_for, "", printed, "", msgspec.msgpack.encode(facts))
