"""Record what each rank of a training does in each step, as spans of time, and print them with a letter per moment.

    record = Recorder(MPI.COMM_WORLD)
    with record("compute", step):
        ...
    record.average(gradient, step)
    found = record.gather()

course.figures.spans() draws them.
"""

import contextlib
import json
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# By importance: of spans at the same moment, the first one is printed.
LETTERS = {"compute": "c", "save": "s", "wait": "w", "exchange": "x", "input": "i"}
COLUMNS = 90  # letters of a line


class Span(NamedTuple):
    """What a rank did in a step, and when, in seconds since the first span of all ranks began."""

    rank: int
    step: int
    kind: str  # of LETTERS
    start: float
    end: float


class Recorder:
    """The spans of this rank."""

    def __init__(self, comm: Any):
        """Record for the rank of this communicator of MPI. All ranks share the machine's clock."""
        self.comm, self.found = comm, list[Span]()

    @contextlib.contextmanager
    def __call__(self, kind: str, step: int) -> Iterator[None]:
        """Record the block as a span."""
        start = time.monotonic()
        yield
        self.found.append(Span(self.comm.rank, step, kind, start, time.monotonic()))

    def average(self, array: Any, step: int) -> None:
        """Replace an array by its mean over all ranks. The time until all ranks are there is recorded by itself."""
        from mpi4py import MPI

        with self("wait", step):
            self.comm.Barrier()
        with self("exchange", step):
            self.comm.Allreduce(MPI.IN_PLACE, array)
        array /= self.comm.size

    def gather(self) -> list[Span]:
        """Return the spans of all ranks on rank 0, which also prints them, and none on other ranks."""
        spans = [span for found in self.comm.gather(self.found) or [] for span in found]
        first = min((span.start for span in spans), default=0)
        spans = [span._replace(start=span.start - first, end=span.end - first) for span in spans]
        if spans:
            print(as_text(spans), flush=True)
        return spans


def share(spans: Sequence[Span], kind: str) -> float:
    """Return the share of all ranks' time that spans of a kind take; the time is that of the whole job."""
    seconds = max(span.end for span in spans) - min(span.start for span in spans)
    ranks = {span.rank for span in spans}
    return sum(span.end - span.start for span in spans if span.kind == kind) / (seconds * len(ranks))


def write(spans: Sequence[Span], path: str | Path) -> None:
    """Write spans to a file, as JSON: a list of [rank, step, kind, start, end]."""
    Path(path).write_text(json.dumps(spans))


def read(path: str | Path) -> list[Span]:
    """Return the spans of a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no spans.
    """
    try:
        return [Span(*each) for each in json.loads(Path(path).read_text())]
    except TypeError as error:
        raise ValueError(f"{path} has no spans: {error}") from None


def as_text(spans: Sequence[Span], moment: float = 0.02) -> str:
    """Return a line per rank with a letter per moment: c for compute, x for exchange, ...; a dot where it does nothing.

    Args:
        spans: of which those of the first COLUMNS moments are shown.
        moment: seconds.
    """
    columns = range(min(COLUMNS, math.ceil(max(span.end for span in spans) / moment)))
    lines = []
    for rank in sorted({span.rank for span in spans}):
        own = [span for span in spans if span.rank == rank]
        letters = [_letter(own, (column + 0.5) * moment) for column in columns]
        lines.append(f"rank {rank}  {''.join(letters)}")
    kinds = [f"{letter} {kind}" for kind, letter in LETTERS.items() if any(span.kind == kind for span in spans)]
    return "\n".join([*lines, f"a letter is {moment * 1000:.0f} ms: {', '.join(kinds)}"])


def _letter(spans: Sequence[Span], moment: float) -> str:
    """Return the letter of what a rank does at a moment, by its spans."""
    kinds = {span.kind for span in spans if span.start <= moment < span.end}
    return next((letter for kind, letter in LETTERS.items() if kind in kinds), ".")
