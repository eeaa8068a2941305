"""A scheduler: who does what for a job, and where a job has run over time."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from course.figures.style import GREY, PALE, arrow, box, canvas, plots, rank_colour
from course.hosts.queue import History

CONTROL, SCRIPT, RANKS = rank_colour(0), rank_colour(4), rank_colour(2)


def scheduler() -> Figure:
    """Draw a job's way: from sbatch to the controller's queue, to the script on its first node, to ranks on all."""
    figure, ax = canvas(9.6, 3.5)
    for x, width, name in ((0.2, 3.3, "head"), (3.9, 2.7, "node1"), (6.7, 2.7, "node2")):
        box(ax, x, 0.15, width, 3.2, face=PALE)
        ax.text(x + 0.15, 3.12, name, color=GREY, fontsize=10, va="center", weight="bold")
    box(ax, 0.4, 2.2, 1.2, 0.6, "sbatch\njob.sbatch", GREY, face="white", size=9)
    box(ax, 2.0, 2.2, 1.3, 0.6, "slurmctld\nqueue, nodes", CONTROL, size=9)
    box(ax, 0.4, 0.4, 2.9, 0.55, "/shared: data, checkpoints, output", GREY, face="white", size=9)
    for x, name in ((4.1, "slurmd"), (6.9, "slurmd")):
        box(ax, x, 2.2, 0.95, 0.6, name, CONTROL, size=9)
    box(ax, 5.35, 2.2, 1.1, 0.6, "batch script", SCRIPT, size=9)
    box(ax, 5.35, 1.3, 1.1, 0.55, "mpirun", SCRIPT, size=9)
    box(ax, 4.1, 0.4, 2.35, 0.55, "ranks", RANKS, size=9)
    box(ax, 6.9, 1.3, 2.3, 0.55, "srun starts prted", SCRIPT, size=9)
    box(ax, 6.9, 0.4, 2.3, 0.55, "ranks", RANKS, size=9)
    for start, end in (
        ((1.62, 2.5), (1.98, 2.5)),
        ((3.32, 2.5), (4.08, 2.5)),
        ((5.07, 2.5), (5.33, 2.5)),
        ((5.9, 2.18), (5.9, 1.87)),
        ((5.9, 1.28), (5.9, 0.97)),
        ((6.47, 1.57), (6.88, 1.57)),
        ((8.05, 1.28), (8.05, 0.97)),
        ((7.4, 2.18), (7.4, 1.87)),
    ):
        arrow(ax, start, end)
    return figure


def job_history(history: History, nodes: Sequence[str]) -> Figure:
    """Plot on which nodes a job ran when, when it waited, and what was done to it.

    Args:
        history: of the job.
        nodes: the names of all nodes.
    """
    figure, (ax,) = plots(height=0.45 * len(nodes) + 1.7)
    figure.set_size_inches(9.4, 0.45 * len(nodes) + 1.7)
    run, before = -1, None
    for stretch in history.stretches:
        length = stretch.ended - stretch.began
        if stretch.state == "PENDING":
            ax.axvspan(stretch.began, stretch.ended, color=PALE, zorder=0)
        if stretch.state == "RUNNING":
            run += before != "RUNNING"
            for node in stretch.nodes:
                row = list(nodes).index(node)
                ax.barh(row, length, left=stretch.began, color=rank_colour(run), height=0.6)
                ax.text(stretch.began + 0.3, row, f"run {run + 1}", va="center", fontsize=8, color="white")
        before = stretch.state
    for number, (seconds, what) in enumerate(history.events):
        ax.axvline(seconds, color="black", linewidth=1, linestyle=":")
        ax.text(seconds, -0.75 - 0.42 * (number % 2), f" {what}", fontsize=8, va="center")
    ax.set(xlabel="seconds since sbatch", yticks=range(len(nodes)), ylim=(len(nodes) - 0.4, -1.5), xlim=(0, None))
    ax.set_yticklabels(nodes)
    ax.grid(axis="y", visible=False)
    return figure
