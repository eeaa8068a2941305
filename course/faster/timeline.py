"""What a timeline of Horovod's shows of allreduces: when each began and ended, and the tensors that are fused in it."""

import re
from dataclasses import dataclass
from pathlib import Path

EVENT = re.compile(
    r'"ph": "B", "name": "(?P<begins>\w+)", "ts": (?P<since>\d+), "pid": (?P<tensor>\d+)'
    r'|"ph": "E", "ts": (?P<until>\d+), "pid": (?P<ended>\d+)'
)
EXCHANGES = "MPI_ALLREDUCE", "GLOO_ALLREDUCE", "NCCL_ALLREDUCE"


@dataclass(frozen=True)
class Exchange:
    """One allreduce. Times are seconds since hvd.init()."""

    ready: tuple[float, ...]  # when the first rank had each of its tensors
    start: float
    end: float

    @property
    def tensors(self) -> int:
        """How many tensors Horovod has fused in it."""
        return len(self.ready)


def exchanges(file: Path) -> list[Exchange]:
    """Return the allreduces of a timeline, in order.

    Args:
        file: that Horovod has written to the path in HOROVOD_TIMELINE. Of a training that was killed, its last events
            may be missing.

    Raises:
        OSError: the file cannot be read.
    """
    found: list[Exchange] = []
    ready: dict[int, float] = {}  # by tensor
    fused: list[int] = []  # tensors that are exchanged
    ending, start = False, 0.0
    for event in EVENT.finditer(file.read_text(errors="replace")):
        if event["begins"]:
            tensor, since = int(event["tensor"]), int(event["since"]) / 1e6
            if event["begins"].startswith("NEGOTIATE_"):
                ready[tensor] = since
            elif event["begins"] in EXCHANGES:
                if ending or not fused:
                    fused, ending, start = [], False, since
                fused.append(tensor)
        elif fused and int(event["ended"]) in fused:
            if not ending:
                end = int(event["until"]) / 1e6
                found.append(Exchange(tuple(ready.get(tensor, start) for tensor in fused), start, end))
            ending = True
    return found


def last_step(found: list[Exchange], tensors: int) -> list[Exchange]:
    """Return the last exchanges, of so many tensors together."""
    number, counted = len(found), 0
    while number and counted < tensors:
        number -= 1
        counted += found[number].tensors
    return found[number:]
