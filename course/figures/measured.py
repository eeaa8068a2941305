"""Plots of what ranks did in a launch.Run."""

from statistics import mean, median

import numpy as np
from matplotlib.figure import Figure

from course.figures.style import GREY, box, canvas, plots, rank_colour
from course.launch import Run
from course.record.records import Record

# The parts of a run's time, as run_shares() returns them, and what is left.
SHARES = {
    "start and imports": "#9ca3af",
    "first batch": "#E69F00",
    "training": "#0072B2",
    "validation": "#56B4E9",
    "test and exit": "#d1d5db",
}


def batch_times(run: Run) -> Figure:
    """Plot the seconds of each batch on rank 0. The first one includes the tracing of the graph."""
    figure, (ax,) = plots()
    record = run.records[0]
    times = np.diff([record.epochs[0].start, *record.batch_ends[: record.epochs[0].steps]])
    ax.plot(range(1, len(times) + 1), times, color=rank_colour(0), marker="o", linestyle="")
    ax.annotate(f"{times[0]:.2g} s", (1, times[0]), xytext=(8, -3), textcoords="offset points", fontsize=9)
    ax.set(title="Batches of the first epoch", xlabel="batch", ylabel="seconds, logarithmic", yscale="log")
    return figure


def processes(runs: dict[str, Run]) -> Figure:
    """Show, for each run, the rank, size and GPUs that each of its processes sees when training begins."""
    figure, ax = canvas(9, 1.55 * len(runs))
    for row, (title, run) in enumerate(runs.items()):
        top = 1.55 * (len(runs) - row)
        ax.text(0.2, top - 0.18, title, fontsize=11, va="center")
        width = 8.6 / len(run.records)
        for record in run.records:
            text = f"process {record.pid}\n"
            text += "rank {} of {}, local rank {}".format(*record.horovod) if record.horovod else "does not use Horovod"
            text += f"\nsees {', '.join(record.gpus) or 'no GPU'}"
            colour = rank_colour(record.horovod[0]) if record.horovod else GREY
            box(ax, 0.2 + record.rank * width, top - 1.45, width - 0.2, 1.05, text, colour, size=9)
    return figure


def lines_printed(runs: dict[str, Run]) -> Figure:
    """Plot the number of lines that each rank printed in each run."""
    figure, axes = plots(len(runs), height=2.8)
    most = max(len(lines) for run in runs.values() for lines in run.output.values())
    for ax, (title, run) in zip(axes, runs.items(), strict=True):
        for rank in range(run.np):
            count = len(run.output.get(rank, []))
            ax.bar(rank, count, color=rank_colour(rank))
            ax.text(rank, count, str(count), ha="center", va="bottom")
        ax.set(title=title, ylabel="lines printed", ylim=(0, most * 1.15), xticks=range(run.np))
        ax.set_xticklabels([f"rank {rank}" for rank in range(run.np)])
    return figure


def weight_distance(runs: dict[str, Run]) -> Figure:
    """Plot the distance of each rank's trainable weights from rank 0's after each batch, relative to rank 0's norm.

    Raises:
        ValueError: a run recorded no weights.
    """
    figure, axes = plots(len(runs))
    highest = 0.0
    for ax, (title, run) in zip(axes, runs.items(), strict=True):
        zero = _weights(run.records[0])
        for record in run.records:
            own = _weights(record)
            batches = min(len(own), len(zero))
            gap = np.linalg.norm(own[:batches] - zero[:batches], axis=1)
            distance = gap / np.linalg.norm(zero[:batches], axis=1)
            highest = max(highest, distance.max())
            ax.plot(distance, color=rank_colour(record.rank), marker=".", label=f"rank {record.rank}")
        ax.set(title=title, xlabel="batches done", ylabel="distance from rank 0's weights")
        ax.legend(frameon=False)
    for ax in axes:
        ax.set_ylim(-0.04 * highest, 1.1 * highest or 1)
    return figure


def update_agreement(runs: dict[str, Run]) -> Figure:
    """Plot the cosine of the angle between each rank's update and rank 0's, batch by batch: 1 if they are the same.

    Raises:
        ValueError: a run recorded no weights.
    """
    figure, axes = plots(len(runs))
    for ax, (title, run) in zip(axes, runs.items(), strict=True):
        # Without the first batch: the broadcast at its end changes weights too, and is not an update.
        zero = np.diff(_weights(run.records[0])[1:], axis=0)
        for record in run.records[1:]:
            own = np.diff(_weights(record)[1:], axis=0)
            batches = min(len(own), len(zero))
            dot = np.sum(own[:batches] * zero[:batches], axis=1)
            cosine = dot / np.linalg.norm(own[:batches], axis=1) / np.linalg.norm(zero[:batches], axis=1)
            ax.plot(
                range(2, batches + 2), cosine, color=rank_colour(record.rank), marker=".", label=f"rank {record.rank}"
            )
        ax.axhline(1, color=GREY, linewidth=0.8, linestyle=":")
        ax.set(title=title, xlabel="batch", ylabel="agreement with rank 0's update", ylim=(-0.3, 1.1))
        ax.legend(frameon=False)
    return figure


def _weights(record: Record) -> np.ndarray:
    """Return the recorded weights, of shape (batches + 1, coordinates)."""
    if record.weights is None:
        raise ValueError(f"Rank {record.rank} recorded no weights. Run the script with weights=True.")
    return record.weights


def epoch_costs(runs: dict[str, Run], batch_size: int, train_samples: int) -> Figure:
    """Plot the passes over the training set of all ranks together per epoch, and the seconds of a later epoch.

    Args:
        runs: title -> run.
        batch_size: images per step and rank.
        train_samples: images in the training set.
    """
    figure, (left, right) = plots(2, height=3)
    for column, run in enumerate(runs.values()):
        base = 0.0
        for record in run.records:
            share = mean(epoch.steps for epoch in record.epochs) * batch_size / train_samples
            left.bar(column, share, bottom=base, color=rank_colour(record.rank), width=0.6)
            left.text(
                column, base + share / 2, f"rank {record.rank}: {share:.2f}", ha="center", va="center", color="white"
            )
            base += share
        later = run.records[0].epochs[1:]
        seconds = {
            "training": median(epoch.train_end - epoch.start for epoch in later),
            "validation": median(epoch.end - epoch.train_end for epoch in later),
        }
        for place, (part, value) in zip((-0.2, 0.2), seconds.items(), strict=True):
            bar = right.bar(column + place, value, color=SHARES[part], width=0.36, label=None if column else part)
            right.bar_label(bar, [f"{value:.1f} s"])
    right.set_ylim(0, right.get_ylim()[1] * 1.25)
    right.legend(frameon=False, fontsize=8, loc="upper right")
    left.axhline(1, color=GREY, linewidth=0.8, linestyle=":")
    left.set(title="Work of one epoch", ylabel="passes over the training set")
    right.set(title="Time of one epoch", ylabel="seconds")
    for ax in (left, right):
        ax.set_xticks(range(len(runs)), runs.keys())
    return figure


def accuracies(runs: dict[str, Run]) -> Figure:
    """Plot the validation accuracy on each rank by epoch: its own, and the one that the last callback reads."""
    figure, axes = plots(len(runs))
    every = [epoch for run in runs.values() for record in run.records for epoch in record.epochs]
    top = max(logs["val_accuracy"] for epoch in every for logs in (epoch.own_logs, epoch.final_logs))
    last = max(len(record.epochs) for run in runs.values() for record in run.records)
    for ax, (title, run) in zip(axes, runs.items(), strict=True):
        for record in run.records:
            epochs = range(1, len(record.epochs) + 1)
            colour = rank_colour(record.rank)
            own = [epoch.own_logs["val_accuracy"] for epoch in record.epochs]
            read = [epoch.final_logs["val_accuracy"] for epoch in record.epochs]
            ax.plot(epochs, own, color=colour, linestyle=":", marker=".", label=f"rank {record.rank}, own images")
            width = 5 if record.rank == 0 else 2  # equal lines lie on each other and both show
            ax.plot(
                epochs, read, color=colour, linewidth=width, alpha=0.8, label=f"rank {record.rank}, read by callbacks"
            )
        ax.set(title=title, xlabel="epoch", ylabel="validation accuracy", xticks=range(1, last + 1))
        ax.set_ylim(-0.05 * top, 1.35 * top)  # the legend has room above
        ax.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
    return figure


def images_per_second(run: Run, batch_size: float) -> float:
    """Return the images per second of all ranks together, from the median step of all epochs.

    Args:
        run: a run whose steps were recorded.
        batch_size: images per step and rank.
    """
    steps: list[float] = []
    for record in run.records:
        ends = iter(record.batch_ends)
        for epoch in record.epochs:
            in_epoch = [next(ends) for _ in range(epoch.steps)]
            steps += list(np.diff(in_epoch))
    return run.np * batch_size / median(steps)


def time_to_accuracy(runs: dict[str, Run], target: float, train_samples: int) -> Figure:
    """Plot the images and the seconds of training that each run needed to validate at an accuracy for the first time.

    A run that never does has no bar.

    Args:
        runs: title -> run; rank 0's callbacks read the accuracy of all ranks.
        target: the accuracy.
        train_samples: images of an epoch, of all ranks together.
    """
    figure, axes = plots(2, height=0.9 + 0.35 * len(runs))
    for title, run in runs.items():
        epochs = run.records[0].epochs
        reached = next((n for n, epoch in enumerate(epochs, 1) if epoch.final_logs["val_accuracy"] >= target), 0)
        images, seconds = train_samples * reached, epochs[reached - 1].end - epochs[0].start if reached else 0
        for ax, value, label in zip(axes, (images, seconds), (f"{images:,}", f"{seconds:.0f} s"), strict=True):
            bar = ax.barh(title, value, color=rank_colour(0), height=0.6)
            ax.bar_label(bar, [f" {label}" if reached else " not reached"])
    for ax, what in zip(axes, ("images, of all ranks", "seconds"), strict=True):
        ax.set(title=f"To {target:.0%}: {what}", xlim=(0, 1.3 * max(ax.get_xlim()[1], 1)))
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
    return figure


def speedup(runs: list[Run], batch_size: int, all_cores: Run | None = None) -> Figure:
    """Plot images per second and efficiency over the number of ranks, compared with the ideal.

    Args:
        runs: to compare, each rank with a core or a GPU of its own.
        batch_size: images per step and rank.
        all_cores: a run of one rank that may use all cores.
    """
    figure, (left, right) = plots(2, height=3)
    ranks = [run.np for run in runs]
    rates = [images_per_second(run, batch_size) for run in runs]
    ideal = [rates[0] / ranks[0] * n for n in ranks]
    left.plot(ranks, ideal, color=GREY, linestyle=":", label="ideal")
    left.plot(ranks, rates, color=rank_colour(0), marker="o", label="measured")
    if all_cores:
        left.axhline(images_per_second(all_cores, batch_size), color=rank_colour(1), label="one rank, all cores")
    left.set(
        title="Throughput",
        xlabel="ranks",
        ylabel="images/sec, all ranks",
        xticks=ranks,
        ylim=(0, max(ideal + rates) * 1.15),
    )
    left.legend(frameon=False, loc="upper left")
    for n, rate, best in zip(ranks, rates, ideal, strict=True):
        bar = right.bar(str(n), rate / best, color=rank_colour(0), width=0.6)
        right.bar_label(bar, [f"{rate / best:.0%}"])
    right.set(title="Efficiency", xlabel="ranks", ylabel="measured / ideal", ylim=(0, 1.3))
    return figure


def run_shares(run: Run) -> list[float]:
    """Return the seconds that a run spent on its start, rank 0's first batch, the rest of the training, validation."""
    epochs, ends = run.records[0].epochs, run.records[0].batch_ends
    first = ends[0] - epochs[0].start
    training = sum(epoch.train_end - epoch.start for epoch in epochs) - first
    return [epochs[0].start - run.began, first, training, sum(epoch.end - epoch.train_end for epoch in epochs)]


def time_shares(runs: list[Run]) -> Figure:
    """Plot how the seconds of each run divide into start-up, first batch, training, validation, and the final test."""
    figure, (ax,) = plots(height=2.8)
    for run in runs:
        shares = run_shares(run)
        left = 0.0
        for (name, colour), seconds in zip(SHARES.items(), [*shares, run.seconds - sum(shares)], strict=True):
            ax.barh(str(run.np), seconds, left=left, color=colour, height=0.6, label=name if run is runs[0] else None)
            left += seconds
    ax.set(title="Where a run's seconds go", xlabel="seconds", ylabel="ranks")
    ax.grid(axis="y", visible=False)
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=5)
    return figure


def images(arrays: np.ndarray, names: list[str]) -> Figure:
    """Show grey images, of shape (n, height, width), in one row, each with its name."""
    figure, axes = plots(len(arrays), height=1.4)
    figure.set_size_inches(9, 1.4)
    for ax, array, name in zip(axes, arrays, names, strict=True):
        ax.imshow(array, cmap="gray_r")
        ax.set_title(name, fontsize=8)
        ax.axis("off")
    return figure
