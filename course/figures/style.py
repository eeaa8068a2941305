"""One look for every figure: a colour a rank, quiet axes, and boxes and arrows for the diagrams."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

# Okabe and Ito's palette, told apart by colour-blind eyes too.
RANK_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
GREY = "#6b7280"
PALE = "#f3f4f6"


def rank_colour(rank: int) -> str:
    """Return the colour that stands for a rank in every figure."""
    return RANK_COLOURS[rank % len(RANK_COLOURS)]


def plots(count: int = 1, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many plots side by side."""
    figure, axes = plt.subplots(1, count, figsize=(4.4 * count + 0.6, height), layout="constrained", squeeze=False)
    plt.close(figure)  # or a notebook would show it twice: as the cell's result, and as pyplot's open figure
    for ax in axes[0]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#e5e7eb", linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, list(axes[0])


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of this size in inches, without axes, whose coordinates are inches too."""
    figure, ax = plt.subplots(figsize=(width, height), layout="constrained")
    plt.close(figure)
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return figure, ax


def box(ax: Axes, x: float, y: float, width: float, height: float, text: str = "", colour: str = GREY, **style) -> None:
    """Draw a rounded box with its lower left corner at x, y and a text in its middle."""
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


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = GREY, **style) -> None:
    """Draw an arrow between two points."""
    ax.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=12, color=colour, linewidth=1.4, **style))
