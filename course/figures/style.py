"""The common style of all figures: one colour per rank, quiet axes, boxes and arrows for diagrams."""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

plt.rcdefaults()  # not those of a user's matplotlibrc, such as texts that LaTeX sets

# Okabe and Ito's palette, which colour-blind readers can distinguish too.
RANK_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
GREY = "#6b7280"
PALE = "#f3f4f6"


def rank_colour(rank: int) -> str:
    """Return the colour of a rank, the same in every figure."""
    return RANK_COLOURS[rank % len(RANK_COLOURS)]


def plots(count: int = 1, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """Return a figure and its plots, side by side.

    Args:
        count: the number of plots.
        height: of the figure, in inches.
    """
    figure, axes = plt.subplots(1, count, figsize=(4.4 * count + 0.6, height), layout="constrained", squeeze=False)
    plt.close(figure)  # or a notebook would show it twice: as the cell's result, and as pyplot's open figure
    for ax in axes[0]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#e5e7eb", linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, list(axes[0])


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of this size in inches, and its plot, which shows no axes and has inches as coordinates."""
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    plt.close(figure)
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return figure, ax


def box(
    ax: Axes, x: float, y: float, width: float, height: float, text: str = "", colour: str = GREY, **style: Any
) -> None:
    """Draw a rounded box with its lower left corner at x, y and a centred text; style is for the text."""
    face = style.pop("face", colour + "22")
    patch = FancyBboxPatch(
        (x, y),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.08",
        facecolor=face,
        edgecolor=colour,
        linewidth=1.4,
    )
    ax.add_patch(patch)
    ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=style.pop("size", 10), **style)


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = GREY, **style: Any) -> None:
    """Draw an arrow between two points; style is for the arrow."""
    style = {"arrowstyle": "-|>", **style}
    ax.add_patch(FancyArrowPatch(start, end, mutation_scale=12, color=colour, linewidth=1.4, **style))
