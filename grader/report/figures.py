"""Small figures of what the ranks of a script did, for the checks where a picture says it better than words."""

import io
import itertools
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course.figures.style import GREY, box, canvas, plots, rank_colour
from grader.terms.clusters import BASE_LR
from grader.terms.runs import Rank, Runs

Ranks = list[Rank[Any]]  # of one cluster


def draw(name: str, runs: Runs[Any]) -> str:
    """Return the figure of that name as SVG; nothing where a rank did not report, or did too little for a figure."""
    if not all(rank.reported for rank in runs.ranks()):
        return ""
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "", "font.size": 8, "axes.titlesize": 9}):
        figure = FIGURES[name](
            list((runs.clusters | runs.reserved if name in WITH_RESERVED else runs.clusters).values())
        )
        if not figure:
            return ""
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def visible_gpus(clusters: list[Ranks]) -> Figure:
    """For each rank, the GPUs that it can see when it builds its model."""
    figure, ax = canvas(7.2, 0.62 * len(clusters))
    for row, ranks in enumerate(clusters):
        bottom = 0.62 * (len(clusters) - row - 1)
        ax.text(0.05, bottom + 0.25, ranks[0].cluster, va="center", fontsize=8)
        for rank in ranks:
            seen = ", ".join(map(str, rank.facts.gpus))
            text = f"rank {rank.number}: " + (f"GPU {seen}" if seen else "no GPU")
            box(ax, 2.75 + 1.48 * rank.number, bottom + 0.06, 1.4, 0.4, text, rank_colour(rank.number), size=8)
    return figure


def lines_printed(clusters: list[Ranks]) -> Figure:
    """How many lines each rank printed."""
    figure, axes = plots(len(clusters), height=2.1)
    figure.set_figwidth(7.2)
    counts = [[len(rank.stdout.splitlines()) for rank in ranks] for ranks in clusters]
    for ax, ranks, lines in zip(axes, clusters, counts, strict=True):
        bars = ax.bar(range(len(ranks)), lines, color=[rank_colour(rank.number) for rank in ranks])
        ax.bar_label(bars)
        ax.set(title=_title(ranks, clusters), xticks=range(len(ranks)), ylim=(0, 1.15 * max(map(max, counts)) + 1))
        ax.set_xticklabels([f"rank {rank.number}" for rank in ranks])
    axes[0].set_ylabel("lines printed")
    return figure


def gradients_applied(clusters: list[Ranks]) -> Figure | None:
    """How far the first step of each rank is from its own gradient, and from the mean of all ranks' gradients.

    Computed as weight_distance() is, relative to the size of the mean. None where a rank made no step.
    """
    if not _all_trained(clusters):
        return None
    figure, axes = plots(len(clusters), height=2.1)
    figure.set_figwidth(7.2)
    for ax, ranks in zip(axes, clusters, strict=True):
        batches = [rank.facts.fits[0].batches[0] for rank in ranks]
        if not all(batch.before and batch.local and batch.rate for batch in batches):
            return None
        applied = [np.subtract(batch.before, batch.updated) / batch.rate for batch in batches]
        own = np.array([batch.local for batch in batches])
        size = np.linalg.norm(own.mean(axis=0))
        for side, (gradients, colour, label) in enumerate(
            ((own, GREY, "own gradient"), (np.broadcast_to(own.mean(axis=0), own.shape), rank_colour(0), "the mean"))
        ):
            apart = np.linalg.norm(np.subtract(applied, gradients), axis=1) / size
            ax.bar(np.arange(len(ranks)) + 0.35 * side - 0.175, apart, 0.35, color=colour, label=label)
        _name_ranks(ax, ranks)
        ax.set(title=_title(ranks, clusters))
        ax.set_ylim(bottom=-0.03)
    axes[0].set_ylabel("distance of the step from")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def weight_distance(clusters: list[Ranks]) -> Figure | None:
    """How far each rank's trainable weights are from rank 0's after each batch, relative to the size of rank 0's.

    Computed from a few random projections of the weights: a distance of 0 is exact, others are estimates. None where a
    rank did not get through a batch.
    """
    if not _all_trained(clusters):
        return None
    if not all(rank.facts.fits[0].batches[0].after is not None for ranks in clusters for rank in ranks):
        return None
    figure, axes = plots(len(clusters), height=2.1)
    figure.set_figwidth(7.2)
    for ax, ranks in zip(axes, clusters, strict=True):
        after = [[batch.after for batch in rank.facts.fits[0].batches if batch.after is not None] for rank in ranks]
        batches = min(map(len, after))
        weights = np.array([of_rank[:batches] for of_rank in after])  # ranks, batches, directions
        apart = np.linalg.norm(weights - weights[0], axis=2) / np.linalg.norm(weights[0], axis=1)
        for rank, line in zip(ranks, apart, strict=True):
            colour = rank_colour(rank.number) if rank.number else GREY
            ax.plot(range(1, batches + 1), line, marker="o", color=colour, label=f"rank {rank.number}")
        ax.set(title=_title(ranks, clusters), xlabel="batch", xticks=range(1, batches + 1))
        ax.set_ylim(bottom=-0.03, top=max(0.1, 1.15 * apart.max()))
    axes[0].set_ylabel("distance from rank 0")
    largest = max(axes, key=lambda ax: len(ax.lines))
    figure.legend(*largest.get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def images_trained_on(clusters: list[Ranks]) -> Figure | None:
    """Which images each rank trained on in the first epoch: a column per image, and a mark for each time.

    None where a rank began no epoch.
    """
    if not all(rank.facts.fits and rank.facts.fits[0].epochs for ranks in clusters for rank in ranks):
        return None
    return _images([[(rank, rank.facts.fits[0].epochs[0].images) for rank in ranks] for ranks in clusters])


def steps_taken(clusters: list[Ranks]) -> Figure | None:
    """How many steps each rank took in the first epoch, in training and in validation. None where one began none."""
    if not all(rank.facts.fits and rank.facts.fits[0].epochs for ranks in clusters for rank in ranks):
        return None
    figure, axes = plots(len(clusters), height=2.1)
    figure.set_figwidth(7.2)
    for ax, ranks in zip(axes, clusters, strict=True):
        epochs = [rank.facts.fits[0].epochs[0] for rank in ranks]
        for side, (steps, colour, label) in enumerate(
            (
                ([epoch.steps for epoch in epochs], rank_colour(0), "training"),
                ([epoch.validation_steps for epoch in epochs], GREY, "validation"),
            )
        ):
            places = np.arange(len(ranks)) + 0.4 * side - 0.2
            ax.bar_label(ax.bar(places, steps, 0.4, color=colour, label=label))
        _name_ranks(ax, ranks)
        ax.set(title=_title(ranks, clusters))
        ax.margins(y=0.15)
    axes[0].set_ylabel("steps in epoch 1")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def metrics_read(clusters: list[Ranks]) -> Figure | None:
    """After the first epoch: the metric that each rank measured, and what its callbacks read. None where none reads."""
    read = [read for ranks in clusters for rank in ranks for fit in rank.facts.fits[:1] for read in fit.reads]
    if not read:
        return None
    _, _, metric, _ = read[0]
    figure, axes = plots(len(clusters), height=2.1)
    figure.set_figwidth(7.2)
    for ax, ranks in zip(axes, clusters, strict=True):
        first = [rank.facts.fits[0] if rank.facts.fits else None for rank in ranks]
        own = [fit.epochs[0].own.get(metric, np.nan) if fit and fit.epochs else np.nan for fit in first]
        for rank, value, fit in zip(ranks, own, first, strict=True):
            seen = [read[3] for read in fit.reads if read[0] == 0 and read[2] == metric] if fit else []
            ax.plot(rank.number, value, "o", color=rank_colour(rank.number), markersize=9, label="measured by the rank")
            ax.plot([rank.number] * len(seen), seen, "x", color="black", markersize=8, label="read by callbacks")
        ax.axhline(np.mean(own), color=GREY, linestyle=":", label="mean of all ranks")
        _name_ranks(ax, ranks)
        ax.set(title=_title(ranks, clusters))
        ax.margins(x=0.3, y=0.2)
    axes[0].set_ylabel(metric)
    handles, labels = axes[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(named.values(), named.keys(), loc="outside right center", frameon=False)
    return figure


def epochs_trained(clusters: list[Ranks]) -> Figure | None:
    """Which epochs each rank trained for, on each cluster, also where it was started again. None where one did not."""
    shown = [ranks for ranks in clusters if all(rank.facts.fits for rank in ranks)]
    if not shown:
        return None
    figure, axes = plots(len(shown), height=1.9)
    figure.set_figwidth(7.6)
    for ax, ranks in zip(axes, shown, strict=True):
        for rank in ranks:
            fit = rank.facts.fits[0]
            ax.barh(rank.number, len(fit.epochs), left=fit.initial_epoch + 0.5, color=rank_colour(rank.number))
        ax.set(title=_title(ranks, shown), xlabel="epoch", ylim=(len(ranks) - 0.5, -0.5))
        ax.set_yticks(range(len(ranks)), [f"rank {rank.number}" for rank in ranks])
        ax.locator_params(axis="x", integer=True)
    return figure


def images_of_workers(clusters: list[Ranks]) -> Figure | None:
    """Which images each worker trained on in its first epoch, as images_trained_on() shows them."""
    if not all(rank.facts.fits and rank.facts.fits[0].epochs for ranks in clusters for rank in ranks):
        return None
    first = [
        [(rank, list(itertools.chain(*fit.images[: fit.epochs[0]]))) for rank in ranks for fit in rank.facts.fits[:1]]
        for ranks in clusters
    ]
    return _images(first)


def _images(clusters: list[list[tuple[Rank[Any], list[Any]]]]) -> Figure:
    """The images of each rank of each cluster: a column per image, and a mark for each time."""
    figure, axes = plots(len(clusters), height=1.7)
    figure.set_figwidth(7.6)
    images = sorted({image for shares in clusters for _, share in shares for image in share})
    ranks = [[rank for rank, _ in shares] for shares in clusters]
    for ax, shares, of_cluster in zip(axes, clusters, ranks, strict=True):
        for rank, share in shares:
            columns = [images.index(image) + 1 for image in share]
            ax.plot(columns, [rank.number] * len(share), "s", color=rank_colour(rank.number), alpha=0.5)
        ax.set(title=_title(of_cluster, ranks), xlabel="image")
        ax.set(xlim=(0, len(images) + 1), ylim=(len(shares) - 0.5, -0.5))
        ax.set_yticks(range(len(shares)), [rank.name.lower() for rank in of_cluster])
        ax.locator_params(axis="x", integer=True)
    return figure


def ranks_on_hosts(clusters: list[Ranks]) -> Figure | None:
    """How many ranks the script started on each host. None where it started none."""
    ((script, *_), *_) = clusters
    started = Counter(rank.host for rank in script.facts.first.ranks)
    if not started:
        return None
    figure, (ax,) = plots(1, height=1.9)
    figure.set_figwidth(3.6)
    hosts = sorted(started)
    ax.bar_label(ax.bar(hosts, [started[host] for host in hosts], color=rank_colour(0)))
    ax.set(title=script.cluster, ylabel="ranks started")
    ax.margins(y=0.15)
    return figure


def learning_rates(clusters: list[Ranks]) -> Figure | None:
    """The learning rate of each batch on rank 0, between that of one process and that of all together.

    None where it did not get through a batch.
    """
    if not all(ranks[0].facts.fits and ranks[0].facts.fits[0].batches for ranks in clusters):
        return None
    figure, axes = plots(len(clusters), height=2.1)
    figure.set_figwidth(7.6)
    for ax, ranks in zip(axes, clusters, strict=True):
        rates = [batch.rate for batch in ranks[0].facts.fits[0].batches]
        for height, text, side in (
            (BASE_LR, "one process", "top"),
            (BASE_LR * len(ranks), f"times {len(ranks)}", "bottom"),
        ):
            ax.axhline(height, color=GREY, linestyle=":")
            ax.annotate(text, (1, height), xycoords=("axes fraction", "data"), ha="right", va=side, color=GREY)
        ax.plot(range(1, len(rates) + 1), rates, marker="o", color=rank_colour(0))
        ax.set(title=_title(ranks, clusters), xlabel="batch", ylim=(0, 1.25 * max(*rates, BASE_LR * len(ranks))))
    axes[0].set_ylabel("learning rate")
    return figure


def _all_trained(clusters: list[Ranks]) -> bool:
    """Whether every rank got through a batch."""
    return all(rank.facts.fits and rank.facts.fits[0].batches for ranks in clusters for rank in ranks)


def _name_ranks(ax: Axes, ranks: Ranks) -> None:
    """Label the ranks on the x-axis."""
    ax.set_xticks(range(len(ranks)), [f"rank {rank.number}" for rank in ranks])


def _title(ranks: Ranks, clusters: list[Ranks]) -> str:
    """Return the name of a cluster, in lines that are no wider than its plot."""
    return textwrap.fill(ranks[0].cluster, 72 // len(clusters))


FIGURES: dict[str, Callable[[list[Ranks]], Figure | None]] = {
    figure.__name__: figure
    for figure in (
        *(visible_gpus, lines_printed, gradients_applied, weight_distance, steps_taken, metrics_read),
        *(images_trained_on, epochs_trained, learning_rates, images_of_workers, ranks_on_hosts),
    )
}
WITH_RESERVED = {"epochs_trained"}  # figures of all clusters, also of those that one check alone looks at
