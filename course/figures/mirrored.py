"""One process for all devices, compared with one process per device: a diagram, and measurements of both."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course.figures.measured import SHARES, images_per_second, run_shares
from course.figures.style import GREY, PALE, arrow, box, canvas, plots, rank_colour
from course.launch import Run


def one_process_or_many() -> Figure:
    """Draw MirroredStrategy, whose process splits each batch, and Horovod, whose processes make their own batches."""
    figure, ax = canvas(9, 3.9)
    ax.text(0.1, 3.75, "MirroredStrategy: one process", color=GREY, fontsize=11, va="center")
    box(ax, 0.1, 0.1, 4.2, 3.4, face=PALE)
    box(ax, 0.25, 2.6, 3.9, 0.7, "program, input\na batch for both devices", GREY, face="white")
    ax.text(4.7, 3.75, "Horovod: two processes", color=GREY, fontsize=11, va="center")
    for device in range(2):
        _device(ax, 0.25 + device * 1.95, device, "half of the batch")
        box(ax, 4.7 + device * 2.1, 0.1, 2.0, 3.4, face=PALE)
        box(ax, 4.8 + device * 2.1, 2.6, 1.8, 0.7, "program, input\nits own batch", GREY, face="white")
        _device(ax, 4.8 + device * 2.1, device, "the batch")
    box(ax, 0.25, 0.3, 3.9, 0.5, "allreduce, inside the process", GREY, face="white")
    box(ax, 4.8, 0.3, 3.9, 0.5, "allreduce, between processes", GREY, face="white")
    return figure


def _device(ax: Axes, x: float, device: int, part: str) -> None:
    """Draw a device with its input and its output."""
    middle = x + 0.9
    arrow(ax, (middle, 2.57), (middle, 2.13), rank_colour(device))
    box(ax, x, 1.2, 1.8, 0.9, f"device {device}\n{part}\nall weights", rank_colour(device), size=9)
    arrow(ax, (middle, 1.17), (middle, 0.83), rank_colour(device))


def side_by_side(runs: dict[str, Run], step_images: int) -> Figure:
    """Plot the images per second of each run, from its median step, and how its seconds were spent.

    Args:
        runs: name -> run.
        step_images: images per step, on all devices together.
    """
    figure, (left, right) = plots(2, height=2.9)
    for name, run in runs.items():
        rate = images_per_second(run, step_images / run.np)
        left.bar_label(left.barh(name, rate, color=GREY, height=0.6), [f"{rate:.0f}"], padding=3)
        shares, start = run_shares(run), 0.0
        for (part, colour), seconds in zip(SHARES.items(), [*shares, run.seconds - sum(shares)], strict=True):
            label = part if run is next(iter(runs.values())) else None
            right.barh(name, seconds, left=start, color=colour, height=0.6, label=label)
            start += seconds
    left.set(title="Training", xlabel="images/sec, all devices", xlim=(0, left.get_xlim()[1] * 1.12))
    right.set(title="Where the run's seconds go", xlabel="seconds", yticklabels=[])
    right.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=4)
    for ax in (left, right):
        ax.grid(axis="y", visible=False)
        ax.invert_yaxis()
    return figure
