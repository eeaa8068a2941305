"""Copying data from a store to each host: a diagram, the cost of reading, and when each file arrived."""

from pathlib import Path

from matplotlib.figure import Figure

from course.figures.style import GREY, PALE, arrow, box, canvas, plots, rank_colour
from course.launch import Run


def staging(hosts: int = 2, slots: int = 2) -> Figure:
    """Draw how one rank per host copies the images from the store to a disk, from which all ranks of the host read."""
    figure, ax = canvas(9, 4.5)
    width = 8.6 / hosts - 0.3
    box(ax, 2.5, 3.9, 4.0, 0.5, "object store: s3://bucket/images", face=PALE)
    for host in range(hosts):
        x = 0.2 + host * (width + 0.3)
        box(ax, x, 0.1, width, 3.0, face="white")
        ax.text(x + 0.12, 2.9, f"host {host}", color=GREY, fontsize=10, va="center")
        box(ax, x + 0.15, 0.25, width - 0.3, 0.5, "this host's copy: cache/", face=PALE)
        each = (width - 0.2) / slots
        for slot in range(slots):
            rank = host * slots + slot
            left = x + 0.15 + slot * each
            middle = left + each / 2 - 0.05
            task = "copies, then reads" if slot == 0 else "waits, then reads"
            box(ax, left, 1.7, each - 0.1, 0.95, f"rank {rank}\nlocal rank {slot}\n{task}", rank_colour(rank))
            if slot == 0:
                arrow(ax, (4.5, 3.87), (middle, 2.68), rank_colour(rank))
                arrow(ax, (middle - 0.2, 1.67), (middle - 0.2, 0.78), rank_colour(rank))
            arrow(ax, (middle + 0.2, 0.78), (middle + 0.2, 1.67), linestyle=":")
    return figure


def read_times(ways: dict[str, float]) -> Figure:
    """Plot the milliseconds per file of several ways of reading or copying it, on a logarithmic axis."""
    figure, (ax,) = plots()
    figure.set_size_inches(7, 0.5 * len(ways) + 0.9)
    for name, milliseconds in ways.items():
        bar = ax.barh(name, milliseconds, color=rank_colour(0), height=0.6)
        ax.bar_label(bar, [f"{milliseconds:.2g} ms"], padding=4, fontsize=9)
    ax.set(xscale="log", xlabel="milliseconds per file", xlim=(min(ways.values()) / 3, max(ways.values()) * 5))
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    return figure


def staged_run(run: Run, images: dict[str, str | Path], results: str | Path) -> Figure:
    """Plot when each image and each result was written, as ticks, and when each rank trained, as bars.

    Args:
        run: the run.
        images: name of a host -> the folder of its copy.
        results: the folder that the run's results went to.
    """
    figure, (ax,) = plots()
    figure.set_size_inches(9, 0.4 * (len(images) + run.np + 1) + 0.9)
    rows = [f"{host}'s images" for host in images] + [f"rank {rank} trains" for rank in range(run.np)] + ["results"]
    for row, folder in [*enumerate(images.values()), (len(rows) - 1, results)]:
        written = [path.stat().st_mtime - run.began for path in Path(folder).rglob("*") if path.is_file()]
        ax.eventplot(written, lineoffsets=[row], linelengths=0.6, colors=GREY, linewidths=0.8)
    for record in run.records:
        start, end = record.epochs[0].start - run.began, record.epochs[-1].end - run.began
        ax.barh(len(images) + record.rank, end - start, left=start, color=rank_colour(record.rank), height=0.6)
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel="seconds since mpirun began", xlim=(0, run.seconds), ylim=(len(rows) - 0.5, -0.5))
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", color="#e5e7eb", linewidth=0.8)
    return figure
