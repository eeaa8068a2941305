"""Which rank trains on which images: what ranks drew, and reading throughput."""

from collections import Counter
from statistics import median

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from course.figures.style import GREY, plots, rank_colour
from course.launch import Run

UNUSED, REPEATED = "#e5e7eb", "#1f2937"


def _numbers(run: Run, epoch: int) -> list[list[int]]:
    """Return, for each rank, the numbers of the images that it trained on in an epoch."""
    return [[number for batch in record.trained_on(epoch) for number in batch] for record in run.records]


def repeated_batches(run: Run, epoch: int = 0) -> tuple[int, int]:
    """Return how many of an epoch's global batches hold an image more than once, and the number of these batches."""
    steps = list(zip(*(record.trained_on(epoch) for record in run.records), strict=True))
    together = [[number for batch in step for number in batch] for step in steps]
    return sum(len(set(numbers)) < len(numbers) for numbers in together), len(steps)


def epoch_maps(run: Run) -> Figure:
    """Draw every training image as a square in the colour of the rank that trained on it, one map per epoch.

    Raises:
        ValueError: the script did not read its images by Keras' flow_from_directory.
    """
    epochs = len(run.records[0].epochs)
    figure, axes = plots(epochs, height=3.1)
    samples = run.records[0].samples["train"] if run.records[0].samples else 0
    columns = int(np.ceil(np.sqrt(1.6 * samples)))
    for epoch, ax in enumerate(axes):
        shares = _numbers(run, epoch)
        times = Counter(number for share in shares for number in share)
        colours = np.ones((-(-samples // columns) * columns, 3))
        colours[:samples] = to_rgb(UNUSED)
        for rank, share in enumerate(shares):
            colours[share] = to_rgb(rank_colour(rank))
        colours[[number for number, count in times.items() if count > 1]] = to_rgb(REPEATED)
        ax.imshow(colours.reshape(-1, columns, 3), interpolation="nearest", aspect="equal")
        several = sum(count > 1 for count in times.values())
        title = (
            f"epoch {epoch}: {len(times)} of {samples} images,\n{several} more than once, {samples - len(times)} never"
        )
        ax.set_title(title, fontsize=10)
        ax.axis("off")
    keys = [Patch(color=rank_colour(rank), label=f"rank {rank}") for rank in range(run.np)]
    keys += [Patch(color=REPEATED, label="more than once"), Patch(color=UNUSED, label="never")]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False, fontsize=9)
    return figure


def overlaps(runs: dict[str, Run], epoch: int = 0) -> Figure:
    """Plot the share of each rank's images in an epoch that each other rank trained on too."""
    figure, axes = plots(len(runs), height=3.6)
    for ax, (title, run) in zip(axes, runs.items(), strict=True):
        shares = [set(share) for share in _numbers(run, epoch)]
        common = np.array([[len(mine & theirs) / len(mine) for theirs in shares] for mine in shares])
        np.fill_diagonal(common, np.nan)
        ax.imshow(common, cmap="Oranges", vmin=0, vmax=1.3)
        for row, column in np.ndindex(common.shape):
            text = "" if row == column else f"{common[row, column]:.0%}"
            ax.text(column, row, text, ha="center", va="center")
        distinct, samples = len(set.union(*shares)), run.records[0].samples["train"]
        ax.set(title=f"{title}: {distinct} of {samples} images")
        ax.set(ylabel="images of …", xlabel="… that are also drawn by …")
        ax.set_xticks(range(run.np), [f"rank {rank}" for rank in range(run.np)])
        ax.set_yticks(range(run.np), [f"rank {rank}" for rank in range(run.np)])
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
    return figure


def throughputs(rates: dict[str, list[float]]) -> Figure:
    """Plot the images per second of several ways of reading them: a dot per measurement, a bar for the median."""
    figure, (ax,) = plots(height=0.6 + 0.6 * len(rates))
    figure.set_size_inches(8, 0.9 + 0.6 * len(rates))
    for row, (name, measured) in enumerate(rates.items()):
        ax.barh(name, median(measured), color="#d1d5db", height=0.6)
        ax.plot(measured, [row] * len(measured), ".", color=GREY)
        ax.text(max(measured), row, f"  {median(measured):,.0f}", va="center")
    ax.invert_yaxis()
    ax.set(xlabel="images/sec, median and single measurements", xlim=(0, 1.15 * max(map(max, rates.values()))))
    ax.grid(axis="y", visible=False)
    ax.grid(axis="x", color="#e5e7eb", linewidth=0.8)
    return figure
