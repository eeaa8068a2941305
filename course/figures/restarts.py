"""A run that loses a rank and is started again: a diagram, the loss before and after, and the time it costs."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from course.faults import Failure
from course.figures.style import GREY, PALE, arrow, box, canvas, plots, rank_colour
from course.launch import Run

STARTING, FIRST, AGAIN, LOST = "#9ca3af", "#0072B2", "#E69F00", "#D55E00"


def restart(hosts: int = 2, slots: int = 2) -> Figure:
    """Draw a resume: only rank 0's host has the checkpoint, so rank 0 reads it and broadcasts epoch and contents."""
    figure, ax = canvas(9, 3.3)
    width = 8.6 / hosts - 0.3
    for host in range(hosts):
        x = 0.2 + host * (width + 0.3)
        box(ax, x, 0.1, width, 3.1, face=PALE)
        ax.text(x + 0.12, 2.98, f"host {host}", color=GREY, fontsize=10, va="center")
        on_disk = "checkpoint-2.h5" if host == 0 else "no checkpoint here"
        box(ax, x + 0.15, 0.2, width - 0.3, 0.5, on_disk, GREY, face="white", family="monospace")
        each = (width - 0.2) / slots
        for slot in range(slots):
            rank = host * slots + slot
            left = x + 0.15 + slot * each
            box(ax, left, 1.1, each - 0.1, 0.6, f"rank {rank}", rank_colour(rank))
            middle = left + each / 2 - 0.05
            if rank == 0:
                arrow(ax, (middle, 0.73), (middle, 1.07), rank_colour(0))
                arrow(ax, (middle, 1.73), (middle, 2.12), rank_colour(0))
            else:
                arrow(ax, (middle, 2.12), (middle, 1.73), rank_colour(0))
    text = "broadcast: epoch 2, and the file's bytes"
    box(ax, 0.35, 2.15, 8.0, 0.5, text, rank_colour(0), face="#dbe8f2")
    return figure


def loss_across_restart(whole: Run, failure: Failure, resumed: Run) -> Figure:
    """Plot the training loss by epoch of an undisturbed run, and of one that lost a rank and was started again."""
    figure, (ax,) = plots(height=3.4)
    figure.set_size_inches(8, 3.4)
    undisturbed = [epoch.final_logs["loss"] for epoch in whole.records[0].epochs]
    again = [epoch.final_logs["loss"] for epoch in resumed.records[0].epochs]
    epochs, done = len(undisturbed), len(failure.losses)
    ax.plot(range(1, epochs + 1), undisturbed, color="#d1d5db", linewidth=7, label="undisturbed run")
    ax.plot(range(1, done + 1), failure.losses, color=FIRST, marker="o", label="until a rank is killed")
    ax.plot(range(epochs - len(again) + 1, epochs + 1), again, color=AGAIN, marker="s", label="started again")
    ax.axvline(done + 0.5, color=LOST, linestyle=":")
    ax.text(done + 0.54, 0.02, f"rank {failure.rank} killed", color=LOST, transform=ax.get_xaxis_transform())
    ax.set(title="Training loss", xlabel="epochs done", ylabel="loss, mean of an epoch", xticks=range(1, epochs + 1))
    ax.legend(frameon=False)
    return figure


def restart_costs(whole: Run, failure: Failure, resumed: Run) -> Figure:
    """Plot the seconds of three runs, epoch by epoch: undisturbed, until a rank was killed, and started again."""
    figure, (ax,) = plots()
    figure.set_size_inches(9, 3)
    epochs = len(whole.records[0].epochs)
    rows = {"undisturbed": whole, "killed": None, "started again": resumed}
    for name, run in rows.items():
        began = run.began if run else failure.began
        starts = [epoch.start for epoch in run.records[0].epochs] if run else failure.epoch_starts
        last = run.records[0].epochs[-1].end if run else failure.killed
        first = epochs - len(starts) + 1 if run else 1
        _segment(ax, name, 0, starts[0] - began, STARTING, "")
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], last], strict=True), start=first):
            lost = run is None and number > len(failure.losses)
            _segment(ax, name, start - began, end - start, LOST if lost else FIRST, str(number))
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set(title="Where the seconds go", xlabel="seconds since the start")
    kinds = {"start and imports": STARTING, "epoch, by its number": FIRST, "lost": LOST}
    handles = [Patch(color=colour, label=name) for name, colour in kinds.items()]
    ax.legend(handles=handles, frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3)
    return figure


def _segment(ax: Axes, row: str, left: float, width: float, colour: str, text: str) -> None:
    """Draw a part of a bar, with a centred text."""
    bar = ax.barh(row, width, left=left, color=colour, edgecolor="white", linewidth=1.5, height=0.6)
    ax.bar_label(bar, [text], label_type="center", color="white", fontsize=9)
