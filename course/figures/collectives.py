"""Algorithms for an allreduce: the time that each takes, by the size of the array and by the number of hosts."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from course.figures.style import GREY, plots, rank_colour
from course.hosts.algorithms import LIBRARIES, NAMES, Timing

SMALL, LARGE = "recursive_doubling", "ring"  # the algorithms between which the crossover is marked
ORDER = (*NAMES, LARGE, *LIBRARIES)  # each has its colour and marker in all figures
MARKERS = dict(zip(ORDER, "osD^vP", strict=True))


def times_by_size(timings: Sequence[Timing]) -> Figure:
    """Plot the time of each algorithm over the size of the array, and mark from which size on the ring is the fastest.

    Args:
        timings: with one number of ranks.
    """
    figure, (ax,) = plots(height=4.4)
    figure.set_size_inches(8.6, 4.4)
    _lines(ax, timings, "size")
    crossing = crossover(timings, SMALL, LARGE)
    if crossing:
        ax.axvline(crossing, color=GREY, linewidth=1, linestyle=":")
        text = f"from {_bytes(crossing)} on, the ring\nis faster than recursive\ndoubling"
        ax.annotate(
            text,
            (crossing, 0.97),
            (-6, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=9,
            color=GREY,
        )
    ax.set(xscale="log", yscale="log", xlabel="size of the array", ylabel="milliseconds")
    ax.set_title(f"One allreduce on {timings[0].ranks} hosts")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: _bytes(size)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    return figure


def times_by_hosts(timings: Sequence[Timing]) -> Figure:
    """Plot the time of each algorithm, and the bytes that the busiest host receives, over the number of hosts.

    Args:
        timings: with arrays of one size.
    """
    figure, (left, right) = plots(2, height=3.8)
    _lines(left, timings, "ranks")
    for name, own in _by_algorithm(timings).items():
        megabytes = [max(each.received) / 1e6 for each in own]
        right.plot([each.ranks for each in own], megabytes, **_style(name))
    size = _bytes(timings[0].size)
    left.set(title=f"Time of one allreduce, {size}", ylabel="milliseconds")
    right.set(title="Received by the busiest host", ylabel="MB")
    for ax in (left, right):
        ax.set(xlabel="hosts, with one rank each", xticks=sorted({each.ranks for each in timings}), ylim=(0, None))
    return figure


def crossover(timings: Sequence[Timing], small: str, large: str) -> float | None:
    """Return the size in bytes from which on one algorithm stays faster than another; None if there is no such size.

    Between measured sizes, times are interpolated on log axes.

    Args:
        timings: with one number of ranks.
        small: the algorithm that is the faster one for small arrays.
        large: the other one.
    """
    times: list[dict[int, float]] = [
        {each.size: each.seconds for each in timings if each.algorithm == name} for name in (small, large)
    ]
    sizes = sorted(times[0].keys() & times[1].keys())
    gains = [math.log(times[0][size] / times[1][size]) for size in sizes]  # above 0 where the second one is faster
    slower = [number for number, gain in enumerate(gains) if gain <= 0]
    if not slower or slower[-1] == len(sizes) - 1:
        return None
    before = slower[-1]
    share = -gains[before] / (gains[before + 1] - gains[before])
    return float(sizes[before] * (sizes[before + 1] / sizes[before]) ** share)


def _by_algorithm(timings: Sequence[Timing]) -> dict[str, list[Timing]]:
    """Return the timings of each algorithm, from few ranks and bytes to many."""
    found = {name: [each for each in timings if each.algorithm == name] for name in ORDER}
    return {name: sorted(own, key=lambda each: (each.ranks, each.size)) for name, own in found.items() if own}


def _style(name: str) -> dict[str, Any]:
    """Return how the line of an algorithm looks; those of libraries are dashed."""
    line = "--" if name in LIBRARIES else "-"
    return {"color": rank_colour(ORDER.index(name)), "marker": MARKERS[name], "markersize": 5, "linestyle": line}


def _lines(ax: Axes, timings: Sequence[Timing], over: str) -> None:
    """Plot the milliseconds of each algorithm over a field of the timings."""
    for name, own in _by_algorithm(timings).items():
        x, y = [getattr(each, over) for each in own], [1000 * each.seconds for each in own]
        ax.plot(x, y, label=name.replace("_", " "), **_style(name))
    ax.legend(frameon=False, fontsize=9)


def _bytes(size: float) -> str:
    """Return a size in words: 20 kB."""
    unit, name = (1e6, "MB") if size >= 1e6 else (1e3, "kB")
    return f"{size / unit:.2g} {name}" if size / unit < 100 else f"{size / unit:.0f} {name}"
