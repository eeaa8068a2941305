"""Horovod's timeline: read from its file when each rank joined each collective, and draw it.

Horovod writes the file to the path in HOROVOD_TIMELINE, in the format of chrome://tracing. read_timeline() needs two
more settings: see SETTINGS.
"""

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from course.figures.style import GREY, plots, rank_colour

SETTINGS = {
    # For a tensor in its cache, Horovod records only when the first rank joined.
    "HOROVOD_CACHE_CAPACITY": "0",
    # Horovod writes an event when the next one occurs. In a deadlock, only these marks still occur.
    "HOROVOD_TIMELINE_MARK_CYCLES": "1",
}

OWN_WORK = "#e5e7eb"


@dataclass
class Collective:
    """One collective on one tensor. Times are seconds since hvd.init()."""

    tensor: str
    arrivals: dict[int, float] = field(default_factory=dict)  # rank -> when it joined; ranks that never did are missing
    start: float | None = None  # of the exchange, which begins when all ranks have joined; None if it never began
    end: float | None = None  # of the exchange; None if the timeline ends before
    timeline_end: float = 0.0  # the time of the timeline's last event


def timeline_variables(path: str | Path) -> dict[str, str]:
    """Return the environment variables that make Horovod write a timeline for read_timeline() to this file."""
    return {"HOROVOD_TIMELINE": str(Path(path).absolute()), **SETTINGS}


def read_timeline(path: str | Path) -> list[Collective]:
    """Return the collectives of a timeline, in the order in which their first ranks joined.

    Args:
        path: the file, of a run with timeline_variables(). Without hvd.stop_timeline() at the end of the run, the last
            events may be missing, and look like a deadlock.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a timeline, or of a run without SETTINGS.
    """
    try:
        events = json.loads(Path(path).read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a whole timeline: {error}. Run the ranks again.") from None
    collectives = _collectives(events, path)
    end = max((event.get("ts", 0) / 1e6 for event in events), default=0.0)
    for collective in collectives:
        collective.timeline_end = end
    return [collective for collective in collectives if collective.arrivals]


def _collectives(events: list[dict[str, Any]], path: str | Path) -> list[Collective]:
    """Return the collectives that the events of a timeline describe. Horovod puts a tensor's number in "pid"."""
    collectives: list[Collective] = []
    names: dict[int, str] = {}  # by tensor, as all of these
    latest: dict[int, Collective] = {}
    running: dict[int, list[str]] = defaultdict(list)  # the names of activities that have begun and not ended
    for event in events:
        number, phase, name = event.get("pid", 0), event["ph"], event.get("name", "")
        seconds = event.get("ts", 0) / 1e6
        if phase == "M" and name == "process_name":
            names[number] = event["args"].get("name", "")
        elif phase == "B":
            if name.startswith("NEGOTIATE_"):
                latest[number] = Collective(names[number])
                collectives.append(latest[number])
            elif not running[number]:
                latest[number].start = seconds
            running[number].append(name)
        elif phase == "X":
            latest[number].arrivals[int(name)] = seconds
        elif phase == "E":
            ended = running[number].pop()
            if ended.startswith("NEGOTIATE_") and not latest[number].arrivals:
                raise ValueError(f"{path} does not record when each rank joined. Run with HOROVOD_CACHE_CAPACITY=0.")
            if not running[number] and latest[number].start is not None:
                latest[number].end = seconds
    return collectives


def ranks_over_time(collectives: list[Collective], np: int) -> Figure:
    """Plot what each rank did: its own work in grey, waiting for other ranks hatched, exchanging in full colour.

    A collective that never began is named where a rank waits in it, with the missing ranks.

    Args:
        collectives: from read_timeline(), one or more.
        np: the number of ranks.
    """
    figure, (ax,) = plots(height=0.75 * np + 1.3)
    figure.set_figwidth(9)
    chart = _Chart(ax, collectives)
    for rank in range(np):
        chart.bar(rank, chart.first, chart.last, color=OWN_WORK)
    for collective in collectives:
        chart.draw_waits(collective, np)
    for collective in collectives:  # on top of the hatches: tensors of one step wait while others are exchanged
        chart.draw_exchange(collective, np)
    ax.set(xlabel=f"{chart.unit_name} since the first rank joined the first exchange shown", yticks=range(np))
    ax.set_yticklabels([f"rank {rank}" for rank in range(np)])
    ax.set_xlim(0, (chart.last - chart.first) * chart.unit * 1.005)
    ax.invert_yaxis()
    ax.grid(visible=False)
    keys = [
        Patch(color=OWN_WORK, label="own work"),
        Patch(facecolor="white", edgecolor=GREY, hatch="////", linewidth=0, label="waits for other ranks"),
        Patch(color=GREY, label="exchanges"),
    ]
    ax.legend(handles=keys, frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return figure


class _Chart:
    """Bars over time, one row per rank, in seconds or milliseconds since the first rank joined a collective."""

    def __init__(self, ax: Axes, collectives: list[Collective]):
        """Choose the unit for the time that the collectives span."""
        self.ax = ax
        self.first = min(min(collective.arrivals.values()) for collective in collectives)
        self.last = max(collective.end or collective.timeline_end for collective in collectives)
        self.unit, self.unit_name = (1, "seconds") if self.last - self.first >= 1 else (1000, "milliseconds")

    def bar(self, rank: int, start: float, end: float, **style: Any) -> None:
        """Draw a bar in a rank's row, between two times of the timeline."""
        self.ax.barh(rank, (end - start) * self.unit, left=(start - self.first) * self.unit, height=0.6, **style)

    def draw_waits(self, collective: Collective, np: int) -> None:
        """Draw the time that each rank waited in a collective."""
        missing = ", ".join(str(rank) for rank in range(np) if rank not in collective.arrivals)
        for rank, arrival in collective.arrivals.items():
            style = {"facecolor": "white", "edgecolor": rank_colour(rank), "hatch": "////", "linewidth": 0}
            self.bar(rank, arrival, collective.start or self.last, **style)
            if collective.start is None:
                middle = ((arrival + self.last) / 2 - self.first) * self.unit
                text = f"in “{_short(collective.tensor)}”, waits for rank {missing}"
                frame = {"facecolor": "white", "edgecolor": "none"}
                self.ax.text(middle, rank, text, ha="center", va="center", bbox=frame)

    def draw_exchange(self, collective: Collective, np: int) -> None:
        """Draw the exchange, which takes the same time on all ranks."""
        if collective.start is None:
            return
        for rank in range(np):
            # The outline makes an exchange of a millisecond visible in a figure of seconds.
            end = collective.end or collective.start
            self.bar(rank, collective.start, end, color=rank_colour(rank), edgecolor=rank_colour(rank), linewidth=1.5)


def _short(tensor: str) -> str:
    """Return the last part of a tensor's name, without its path in the graph and Horovod's prefix."""
    return re.sub(r"^Horovod(Allreduce|Broadcast)_", "", tensor.rpartition("/")[2])
