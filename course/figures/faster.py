"""What makes a training faster: its exchanges over time, pairs of measurements, idle GPUs, and the limit of batches."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from course.faster.batches import Needed, knee
from course.faster.timeline import Exchange
from course.figures.style import GREY, PALE, plots, rank_colour


def exchanges_over_time(by_name: Mapping[str, Sequence[Exchange]]) -> Figure:
    """Plot the allreduces of a step: one row per tensor, waiting from when it was ready, then exchanged.

    Args:
        by_name: exchanges of one step, from course.faster.timeline, by what to call the training.
    """
    figure, axes = plots(len(by_name), height=3.8)
    last = max(max(each.end for each in step) - _begin(step) for step in by_name.values())
    for ax, (name, step) in zip(axes, by_name.items(), strict=True):
        row = 0
        for number, each in enumerate(step):
            for ready in sorted(each.ready):
                for start, end, colour in ((ready, each.start, "#d1d5db"), (each.start, each.end, rank_colour(number))):
                    ax.barh(row, 1000 * (end - start), left=1000 * (start - _begin(step)), height=1, color=colour)
                row += 1
        ax.set(title=f"{name}: {len(step)} allreduces", xlabel="milliseconds", xlim=(0, 1050 * last))
        ax.invert_yaxis()
        ax.grid(visible=False)
    axes[0].set_ylabel("tensors, in the order of the backward pass")
    return figure


def _begin(step: Sequence[Exchange]) -> float:
    return min(ready for each in step for ready in each.ready)


def idle_gpu(by_prefetch: Mapping[str, Mapping[int, float]], by_parallel: Mapping[str, Mapping[int, float]]) -> Figure:
    """Plot the idle share of a GPU over prefetched batches, and over batches that are read at the same time.

    Args:
        by_prefetch: shares by the number of batches, by what to call the input.
        by_parallel: likewise.
    """
    figure, axes = plots(2, height=3.2)
    for ax, lines, label in zip(
        axes, (by_prefetch, by_parallel), ("prefetch, batches", "num_parallel_calls"), strict=True
    ):
        for number, (name, shares) in enumerate(lines.items()):
            places = range(len(shares))
            ax.plot(places, list(shares.values()), "o-", color=rank_colour(number), label=name)
            ax.set_xticks(places, labels=[str(each) for each in shares])
        ax.set(xlabel=label, ylim=(0, 1))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))
        ax.legend(frameon=False, fontsize=9)
    axes[0].set_ylabel("idle share of the GPU")
    return figure


def batch_limit(found: Sequence[Needed]) -> Figure:
    """Plot the updates and the images to a target over the size of the batch, with the knee.

    Args:
        found: from course.faster.batches.needed().
    """
    figure, (left, right) = plots(2, height=3.4)
    sizes, first = [each.batch for each in found], found[0]
    left.plot(sizes, [first.images / size for size in sizes], color=GREY, linestyle=":", label="perfect")
    left.plot(sizes, [each.updates for each in found], "o-", color=rank_colour(0), label="needed")
    right.plot(sizes, [each.images for each in found], "o-", color=rank_colour(1))
    left.set(title="Updates to the target", ylim=(min(first.images / sizes[-1], 10), None))
    right.set(title="Images to the target")
    for ax in (left, right):
        ax.axvspan(sizes[0] / 1.3, knee(found), color=PALE)
        ax.set(xscale="log", yscale="log", xlabel="images per update", xlim=(sizes[0] / 1.3, sizes[-1] * 1.3))
        ax.set_xticks(sizes[::2], labels=[str(size) for size in sizes[::2]])
        ax.minorticks_off()
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    right.annotate(f"knee: {knee(found)}", (knee(found), right.get_ylim()[0] * 1.1), ha="right", fontsize=9, color=GREY)
    left.legend(frameon=False, fontsize=9)
    return figure


def cheaper_step(before: Mapping[str, float], after: Mapping[str, float]) -> Figure:
    """Plot where the time of a training goes: computation and communication, before the changes and after them.

    Args:
        before: seconds by what they are, of the whole training.
        after: likewise.
    """
    figure, (ax,) = plots(height=2.2)
    figure.set_figwidth(8)
    for row, parts in enumerate((before, after)):
        left = 0.0
        for number, (name, seconds) in enumerate(parts.items()):
            ax.barh(row, seconds, left=left, color=rank_colour(number), label=name if row == 0 else None)
            left += seconds
    ax.set_yticks([0, 1], labels=["step 6", "yours"])
    ax.set(xlabel="seconds")
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure
