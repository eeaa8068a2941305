"""Horovod's timeline: what each rank waited for, and when all of them exchanged, read from its file and drawn.

The file is written where HOROVOD_TIMELINE names it, for chrome://tracing. Two more settings make it tell all that is
read here: see SETTINGS.
"""

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from course.figures.style import GREY, plots, rank_colour

SETTINGS = {
    # Of a tensor that it has seen before, Horovod notes when the first rank came with it, and of no other rank.
    "HOROVOD_CACHE_CAPACITY": "0",
    # The last event stays unwritten until the next one comes. In a hang there would be none.
    "HOROVOD_TIMELINE_MARK_CYCLES": "1",
}

OWN_WORK = "#e5e7eb"


@dataclass
class Collective:
    """One collective on one tensor. Times are seconds since hvd.init()."""

    tensor: str
    arrivals: dict[int, float] = field(default_factory=dict)  # rank -> when it came; without the ranks that never did
    start: float | None = None  # of the exchange itself, once all ranks were there; None: it never came to that
    end: float | None = None  # of the exchange; None: the timeline ends before
    timeline_end: float = 0.0  # the time of the timeline's last event


def timeline_variables(path: str | Path) -> dict[str, str]:
    """Return the environment variables that have Horovod write a timeline for read_timeline() to this file."""
    return {"HOROVOD_TIMELINE": str(Path(path).absolute()), **SETTINGS}


def read_timeline(path: str | Path) -> list[Collective]:
    """Return what a timeline tells of each collective, in the order in which the first ranks came to them.

    Args:
        path: the file, of a run with timeline_variables(). Where the run ended well and without hvd.stop_timeline(),
            the last events may be missing, and look as if ranks had waited for good.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a timeline, or a run without SETTINGS wrote it.
    """
    try:
        events = json.loads(Path(path).read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a whole timeline: {error}. Run the ranks again.") from None
    tensors, collectives = {}, []
    latest: dict[int, Collective] = {}  # of each tensor, by its number, which stands where others have a pid
    running: dict[int, list[str]] = defaultdict(list)  # the names of what has begun and not ended, likewise
    for event in events:
        number, phase, name = event.get("pid"), event["ph"], event.get("name", "")
        seconds = event.get("ts", 0) / 1e6
        if phase == "M" and name == "process_name":
            tensors[number] = event["args"].get("name", "")
        elif phase == "B":
            if name.startswith("NEGOTIATE_"):
                latest[number] = Collective(tensors[number])
                collectives.append(latest[number])
            elif not running[number]:
                latest[number].start = seconds
            running[number].append(name)
        elif phase == "X":
            latest[number].arrivals[int(name)] = seconds
        elif phase == "E":
            ended = running[number].pop()
            if ended.startswith("NEGOTIATE_") and not latest[number].arrivals:
                raise ValueError(f"{path} does not tell when the ranks came. Run with HOROVOD_CACHE_CAPACITY=0.")
            if not running[number] and latest[number].start is not None:
                latest[number].end = seconds
    for collective in collectives:
        collective.timeline_end = seconds
    return [collective for collective in collectives if collective.arrivals]


def ranks_over_time(collectives: list[Collective], np: int) -> Figure:
    """What each rank did: its own work in grey, waiting for other ranks hatched, and exchanging in full colour.

    A collective that never came about is named where a rank waits in it, with the ranks that were missing.
    """
    figure, (ax,) = plots(height=0.75 * np + 1.3)
    figure.set_figwidth(9)
    first = min(min(collective.arrivals.values()) for collective in collectives)
    last = max(collective.end or collective.timeline_end for collective in collectives)
    unit, name = (1, "seconds") if last - first >= 1 else (1000, "milliseconds")

    def bar(rank: int, start: float, end: float, **style) -> None:
        ax.barh(rank, (end - start) * unit, left=(start - first) * unit, height=0.6, **style)

    for rank in range(np):
        bar(rank, first, last, color=OWN_WORK)
    for collective in collectives:
        for rank, arrival in collective.arrivals.items():
            bar(
                rank,
                arrival,
                collective.start or last,
                facecolor="white",
                edgecolor=rank_colour(rank),
                hatch="////",
                linewidth=0,
            )
            if collective.start is None:
                missing = ", ".join(str(other) for other in range(np) if other not in collective.arrivals)
                text = f"in “{_short(collective.tensor)}”, waits for rank {missing}"
                ax.text(
                    ((arrival + last) / 2 - first) * unit,
                    rank,
                    text,
                    ha="center",
                    va="center",
                    bbox={"facecolor": "white", "edgecolor": "none"},
                )
    for collective in collectives:  # over the hatches: tensors of one step wait while others are exchanged
        if collective.start is not None:
            for rank in range(np):
                # The line round it shows an exchange of a millisecond in a picture of seconds.
                end = collective.end or collective.start
                bar(rank, collective.start, end, color=rank_colour(rank), edgecolor=rank_colour(rank), linewidth=1.5)
    ax.set(xlabel=f"{name} since the first rank came to the first exchange shown", yticks=range(np))
    ax.set_yticklabels([f"rank {rank}" for rank in range(np)])
    ax.set_xlim(0, (last - first) * unit * 1.005)
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.legend(
        handles=[
            Patch(color=OWN_WORK, label="own work"),
            Patch(facecolor="white", edgecolor=GREY, hatch="////", linewidth=0, label="waits for other ranks"),
            Patch(color=GREY, label="exchanges"),
        ],
        frameon=False,
        fontsize=9,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=3,
    )
    return figure


def _short(tensor: str) -> str:
    """Return the end of a tensor's name, without the graph's path to it and Horovod's mark."""
    return re.sub(r"^Horovod(Allreduce|Broadcast)_", "", tensor.rpartition("/")[2])
