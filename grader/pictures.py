"""Small figures of what the ranks of a script did, for the checks where a picture says it better than words."""

import io

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from course.figures.style import GREY, box, canvas, plots, rank_colour
from grader.facts import RankFacts, Runs
from grader.plans import BASE_LR


def draw(step: int, runs: Runs) -> str:
    """Return the figure that goes with a step's check, as SVG; nothing for a step without one, or without facts."""
    drawn = DRAWN.get(step)
    if not drawn or not all(rank.reported for _, rank in runs.ranks()):
        return ""
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "", "font.size": 8, "axes.titlesize": 9}):
        figure = drawn(list(runs.topologies.values()))
        if not figure:
            return ""
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def visible_gpus(topologies: list[list[RankFacts]]) -> Figure:
    """For each rank, the GPUs that it can see when it builds its model."""
    figure, ax = canvas(7.2, 0.62 * len(topologies))
    for row, ranks in enumerate(topologies):
        bottom = 0.62 * (len(topologies) - row - 1)
        ax.text(0.05, bottom + 0.25, ranks[0].topology, va="center", fontsize=8)
        for facts in ranks:
            seen = ", ".join(map(str, facts.gpus))
            text = f"rank {facts.rank}: " + (f"GPU {seen}" if seen else "no GPU")
            box(ax, 2.75 + 1.48 * facts.rank, bottom + 0.06, 1.4, 0.4, text, rank_colour(facts.rank), size=8)
    return figure


def lines_printed(topologies: list[list[RankFacts]]) -> Figure:
    """How many lines each rank printed."""
    figure, axes = plots(len(topologies), height=2.1)
    figure.set_figwidth(7.2)
    counts = [[len(facts.stdout.splitlines()) for facts in ranks] for ranks in topologies]
    for ax, ranks, lines in zip(axes, topologies, counts, strict=True):
        bars = ax.bar(range(len(ranks)), lines, color=[rank_colour(facts.rank) for facts in ranks])
        ax.bar_label(bars)
        ax.set(title=ranks[0].topology, xticks=range(len(ranks)), ylim=(0, 1.15 * max(map(max, counts)) + 1))
        ax.set_xticklabels([f"rank {facts.rank}" for facts in ranks])
    axes[0].set_ylabel("lines printed")
    return figure


def weight_distance(topologies: list[list[RankFacts]]) -> Figure | None:
    """How far each rank's trainable weights are from rank 0's after each batch, relative to the size of rank 0's.

    Told from a few random projections of the weights: a distance of 0 is exact, others are estimates. None where no
    batch was ended.
    """
    fits = [facts.fits[0] if facts.fits else {"batches": []} for ranks in topologies for facts in ranks]
    if not all("after" in batch for fit in fits for batch in fit["batches"][:1] or [{}]):
        return None
    figure, axes = plots(len(topologies), height=2.1)
    figure.set_figwidth(7.2)
    for ax, ranks in zip(axes, topologies, strict=True):
        after = [[batch["after"] for batch in facts.fits[0]["batches"] if "after" in batch] for facts in ranks]
        batches = min(map(len, after))
        weights = np.array([rank[:batches] for rank in after])  # ranks, batches, directions
        apart = np.linalg.norm(weights - weights[0], axis=2) / np.linalg.norm(weights[0], axis=1)
        for facts, line in zip(ranks, apart, strict=True):
            colour = rank_colour(facts.rank) if facts.rank else GREY
            ax.plot(range(1, batches + 1), line, marker="o", color=colour, label=f"rank {facts.rank}")
        ax.set(title=ranks[0].topology, xlabel="batch", xticks=range(1, batches + 1))
        ax.set_ylim(bottom=-0.03, top=max(0.1, 1.15 * apart.max()))
    axes[0].set_ylabel("distance from rank 0")
    largest = max(axes, key=lambda ax: len(ax.lines))
    figure.legend(*largest.get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def images_trained_on(topologies: list[list[RankFacts]]) -> Figure:
    """Which images each rank trained on in the first epoch: a column an image, and a mark for each time."""
    figure, axes = plots(len(topologies), height=1.7)
    figure.set_figwidth(7.6)
    epochs = [[facts.fits[0]["epochs"][0]["images"] for facts in ranks] for ranks in topologies]
    images = sorted({image for shares in epochs for share in shares for image in share})
    for ax, ranks, shares in zip(axes, topologies, epochs, strict=True):
        for facts, share in zip(ranks, shares, strict=True):
            columns = [images.index(image) + 1 for image in share]
            ax.plot(columns, [facts.rank] * len(share), "s", color=rank_colour(facts.rank), alpha=0.5)
        ax.set(title=ranks[0].topology, xlabel="image", xlim=(0, len(images) + 1), ylim=(len(ranks) - 0.5, -0.5))
        ax.set_yticks(range(len(ranks)), [f"rank {facts.rank}" for facts in ranks])
        ax.locator_params(axis="x", integer=True)
    return figure


def learning_rates(topologies: list[list[RankFacts]]) -> Figure:
    """The learning rate of each batch on rank 0, between that of one process and that of all together."""
    figure, axes = plots(len(topologies), height=2.1)
    figure.set_figwidth(7.6)
    for ax, ranks in zip(axes, topologies, strict=True):
        rates = [batch["rate"] for batch in ranks[0].fits[0]["batches"]]
        for height, text, side in (
            (BASE_LR, "one process", "top"),
            (BASE_LR * len(ranks), f"times {len(ranks)}", "bottom"),
        ):
            ax.axhline(height, color=GREY, linestyle=":")
            ax.annotate(text, (1, height), xycoords=("axes fraction", "data"), ha="right", va=side, color=GREY)
        ax.plot(range(1, len(rates) + 1), rates, marker="o", color=rank_colour(0))
        ax.set(title=ranks[0].topology, xlabel="batch", ylim=(0, 1.25 * max(*rates, BASE_LR * len(ranks))))
    axes[0].set_ylabel("learning rate")
    return figure


DRAWN = {1: visible_gpus, 2: lines_printed, 4: weight_distance, 9: images_trained_on, 11: learning_rates}
