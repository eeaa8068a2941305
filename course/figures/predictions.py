"""What a step costs: a network fitted to measurements, throughput as predicted and as measured, and laws of scaling."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from course.figures.style import GREY, PALE, plots, rank_colour
from course.hosts.algorithms import Timing
from course.scaling import allreduce_seconds, amdahl, gustafson, step_seconds
from course.scaling.published import Comparison

RANKS = tuple(2**power for power in range(11))  # of the laws
SERIAL = 0.05  # likewise the share of the work that one rank does alone


def fitted_network(timings: Sequence[Timing], alpha: float, beta: float) -> Figure:
    """Plot measured seconds of a ring over the size of the array, and the line of the fitted network.

    Args:
        timings: of a ring, with one number of ranks.
        alpha: latency of a message, in seconds.
        beta: seconds per byte.
    """
    figure, (left, right) = plots(2, height=3.4)
    ranks, largest = timings[0].ranks, max(each.size for each in timings)
    sizes = np.geomspace(min(each.size for each in timings), largest)
    line = [1000 * allreduce_seconds(size, ranks, alpha, beta) for size in sizes]
    for ax in (left, right):
        measured = [each.size / 1e6 for each in timings], [1000 * each.seconds for each in timings]
        ax.plot(*measured, "o", color=rank_colour(0), label="measured")
        ax.plot(sizes / 1e6, line, color=rank_colour(1), label="alpha and beta, fitted")
        ax.set(xlabel="size of the array, MB", ylabel="milliseconds")
    left.set(title="Beta is the slope", xlim=(0, None), ylim=(0, None))
    right.set(title="Alpha is what small arrays take", xscale="log", yscale="log")
    for axis in (right.xaxis, right.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    left.legend(frameon=False, fontsize=9)
    return figure


def predicted_throughput(
    predicted: Mapping[str, Mapping[int, float]],
    measured: Mapping[str, Mapping[int, float]],
    guesses: Mapping[str, float | None],
) -> Figure:
    """Plot images per second over the number of hosts for several networks: guessed, predicted and measured.

    Args:
        predicted: by network and by the number of hosts, from 1 on.
        measured: likewise.
        guesses: by network, for the largest number of hosts; None where there is none.
    """
    figure, axes = plots(len(predicted), height=3.2)
    figure.set_size_inches(max(3.1 * len(predicted), 4.6), 3.2)
    for ax, (rate, line) in zip(axes, predicted.items(), strict=True):
        ranks = list(line)
        ax.plot(ranks, [line[1] * each for each in ranks], color=GREY, linestyle=":", label="perfect")
        ax.plot(ranks, list(line.values()), color=rank_colour(0), label="predicted")
        ax.plot(list(measured[rate]), list(measured[rate].values()), "o", color=rank_colour(1), label="measured")
        if (guess := guesses.get(rate)) is not None:
            ax.plot(ranks[-1], guess, "X", color=rank_colour(2), markersize=9, label="your guess")
        ax.set(title=rate, xlabel="hosts", xticks=ranks, ylim=(0, None))
    axes[0].set_ylabel("images per second")
    axes[0].legend(frameon=False, fontsize=9)
    return figure


def scaling_laws(gradient_bytes: float, alpha: float, beta: float, compute: float, overlap: float) -> Figure:
    """Plot the efficiency of weak and of strong scaling, and the laws of Amdahl and Gustafson, over the ranks.

    Args:
        gradient_bytes: size of all gradients.
        alpha: latency of a message, in seconds.
        beta: seconds per byte.
        compute: seconds of computation on one rank, for the batch that it has alone.
        overlap: share of the computation during which gradients can be exchanged.
    """
    figure, (left, right) = plots(2, height=3.6)
    for name, parts in (("weak: each rank keeps its batch", 1), ("strong: all ranks share one batch", None)):
        computing = [compute / (parts or ranks) for ranks in RANKS]
        steps = [
            step_seconds(gradient_bytes, ranks, alpha, beta, seconds, overlap)
            for ranks, seconds in zip(RANKS, computing, strict=True)
        ]
        efficiency = [seconds / step for seconds, step in zip(computing, steps, strict=True)]
        left.plot(RANKS, efficiency, color=rank_colour(0 if parts else 1), label=name)
    left.set(title="Efficiency", xscale="log", ylim=(0, 1.05))
    left.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
    right.plot(RANKS, RANKS, color=GREY, linestyle=":", label="perfect")
    right.plot(RANKS, [gustafson(SERIAL, ranks) for ranks in RANKS], color=rank_colour(0), label="Gustafson")
    right.plot(RANKS, [amdahl(SERIAL, ranks) for ranks in RANKS], color=rank_colour(1), label="Amdahl")
    right.set(title=f"Speed-up, with a serial share of {SERIAL:.0%}", xscale="log", yscale="log")
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for ax in (left, right):
        ax.set(xlabel="ranks", xticks=RANKS[::2])
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.minorticks_off()
        ax.legend(frameon=False, fontsize=9)
    return figure


def held_to_account(small: Sequence[Comparison], large: Sequence[Comparison]) -> Figure:
    """Plot the error of each prediction over the number of GPUs, next to that of a prediction without communication.

    Args:
        small: runs that were used to fit.
        large: runs that were predicted.
    """
    figure, axes = plots(2, height=3.6)
    for ax, runs, title in zip(axes, (small, large), ("Fitted", "Predicted"), strict=True):
        gpus = [each.figure.gpus for each in runs]
        ax.axhspan(-10, 10, color=PALE)
        ax.axhline(0, color=GREY, linewidth=0.8)
        without = [100 * each.linear_error for each in runs]
        ax.plot(gpus, without, "o", color=rank_colour(1), markerfacecolor="none", label="without communication")
        ax.plot(gpus, [100 * each.error for each in runs], "o", color=rank_colour(0), label="with the model")
        ax.set(title=f"{title}: {len(runs)} runs", xlabel="GPUs", xscale="log", ylim=(-25, 70))
        ax.set_xticks(sorted(set(gpus)), labels=[str(number) for number in sorted(set(gpus))])
        ax.minorticks_off()
        ax.yaxis.set_major_formatter(FuncFormatter(lambda percent, _: f"{percent:+g}%" if percent else "0%"))
        for each in runs:
            if each.linear_error > 0.7:
                ax.annotate(f"{each.linear_error:+.0%}", (each.figure.gpus, 66), ha="center", fontsize=9, color=GREY)
    axes[0].set_ylabel("too fast by")
    axes[1].legend(frameon=False, fontsize=9)
    return figure
