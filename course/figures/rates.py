"""The learning rate of many ranks: a diagram, the rates that ranks used, and the effect of a rate on the loss."""

import numpy as np
from matplotlib.figure import Figure

from course.figures.style import GREY, arrow, box, canvas, plots, rank_colour
from course.launch import Run

DROPS = (30, 60, 80)  # epochs from which on the programs use a tenth of the rate
COLOURS = ("#9ca3af", "#db2777", "#0f766e", "#7c3aed")  # of ways to train; ranks have others


def step_lengths(np_ranks: int = 4) -> Figure:
    """Draw how N batches are used: by N steps of one process, by one step of N ranks, and by one N times as long."""
    figure, ax = canvas(9, 2.9)
    left, length = 3.0, 5.6 / np_ranks
    rows = (
        (2.35, "one process", "a step for each batch", np_ranks, length),
        (1.35, f"{np_ranks} ranks, same rate", "one step, by the mean gradient", 1, length),
        (0.35, f"{np_ranks} ranks, longer step", f"rate times {np_ranks}", 1, length * np_ranks),
    )
    for y, name, text, count, long in rows:
        ax.text(0.1, y + 0.12, name, fontsize=10, va="center", weight="bold")
        ax.text(0.1, y - 0.16, text, fontsize=9, va="center", color=GREY)
        for step in range(count):
            colour = rank_colour(step) if count > 1 else "#111827"
            arrow(ax, (left + step * long, y), (left + (step + 1) * long, y), colour)
    for batch in range(np_ranks):
        x = left + (batch + 0.5) * length
        box(ax, x - 0.45, 2.5, 0.9, 0.32, f"batch {batch}", rank_colour(batch), size=9)
    return figure


def expected_rate(epochs_done: float, base_lr: float, size: int, warmup_epochs: int) -> float:
    """Return the learning rate that the rule of step 11 gives for a step.

    Args:
        epochs_done: epochs completed at the end of the step, as a fraction.
        base_lr: the rate of one process.
        size: the number of ranks.
        warmup_epochs: the length of the warm-up.
    """
    if epochs_done <= warmup_epochs:
        return base_lr * (1 + epochs_done / warmup_epochs * (size - 1))
    return base_lr * size * 0.1 ** sum(epochs_done > start for start in DROPS)


def learning_rates(run: Run, base_lr: float, warmup_epochs: int) -> Figure:
    """Plot the rate of each epoch's last step, a mark for each rank, and the line of the expected rate."""
    figure, (left, right) = plots(2, height=3.2)
    epochs = len(run.records[0].epochs)
    line = np.linspace(0, epochs, 40 * epochs + 1)
    expected = [expected_rate(done, base_lr, run.np, warmup_epochs) for done in line]
    for ax, last in ((left, min(epochs, 2 * warmup_epochs)), (right, epochs)):
        ax.plot(line, expected, color="#d1d5db", linewidth=5, label="expected")
        for record in run.records:
            used = [epoch.final_logs["lr"] for epoch in record.epochs]
            size = 9 - 4 * record.rank / run.np  # equal marks lie on each other and all show
            ax.plot(
                range(1, epochs + 1), used, "o", color=rank_colour(record.rank), markersize=size,
                markerfacecolor="none", label=f"rank {record.rank}",
            )  # fmt: skip
        ax.set(xlabel="epochs done", ylabel="learning rate", xlim=(-0.02 * last, 1.02 * last))
    top = 1.25 * base_lr * run.np
    left.set(title=f"Warm-up: the first {warmup_epochs} epochs", ylim=(0, top))
    left.axhline(base_lr, color=GREY, linewidth=0.8, linestyle=":")
    left.text(2 * warmup_epochs, base_lr, "one process", color=GREY, va="bottom", ha="right", fontsize=9)
    right.set(title="All epochs", yscale="log")
    right.legend(frameon=False, fontsize=9)
    return figure


def learning_curves(panels: dict[str, dict[str, list[Run]]], samples: int, log: str = "loss") -> Figure:
    """Plot a metric over the images that all ranks have seen: a thin line per run, and the mean of the runs.

    Args:
        panels: title -> name of a way to train -> its runs, which differ in their seeds.
        samples: images per epoch.
        log: the metric's name in Keras' logs.
    """
    figure, axes = plots(len(panels), height=3.2)
    names = dict.fromkeys(name for ways in panels.values() for name in ways)
    colours = dict(zip(names, COLOURS, strict=False))
    for ax, (title, ways) in zip(axes, panels.items(), strict=True):
        for name, runs in ways.items():
            curves = np.array([[epoch.final_logs[log] for epoch in run.records[0].epochs] for run in runs])
            seen = samples * np.arange(1, curves.shape[1] + 1)
            ax.plot(seen, curves.T, color=colours[name], linewidth=0.8, alpha=0.5)
            ax.plot(seen, curves.mean(axis=0), color=colours[name], linewidth=2.5, label=name)
        ax.set(title=title, xlabel="images seen by all ranks", ylabel=f"training {log}, mean of an epoch")
        ax.legend(frameon=False, fontsize=9)
    return figure


def accuracy_curves(ways: dict[str, list[list[float]]]) -> Figure:
    """Plot test accuracies by epoch: a thin line per seed, and the mean of a way's seeds.

    Args:
        ways: name of a way to train -> for each seed, the accuracy after each epoch.
    """
    figure, (ax,) = plots(height=3.2)
    for (name, seeds), colour in zip(ways.items(), COLOURS, strict=False):
        curves = np.array(seeds)
        epochs = np.arange(1, curves.shape[1] + 1)
        ax.plot(epochs, curves.T, color=colour, linewidth=0.8, alpha=0.5)
        ax.plot(epochs, curves.mean(axis=0), color=colour, linewidth=2.5, label=name)
    ax.set(xlabel="epochs", ylabel="test accuracy", ylim=(0, 1))
    ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return figure


def learned(runs: list[Run], samples: int) -> Figure:
    """Plot what each run has learned, over the images that its ranks have seen and over the seconds of training.

    Args:
        runs: to compare.
        samples: images of the training set, which an epoch sees.
    """
    figure, (left, right) = plots(2, height=3)
    for run, colour in zip(runs, COLOURS, strict=False):
        epochs = run.records[0].epochs
        accuracy = [epoch.final_logs["val_accuracy"] for epoch in epochs]
        seconds = [epoch.end - epochs[0].start for epoch in epochs]
        name = f"{run.np} rank{'s' if run.np > 1 else ''}"
        left.plot(samples * np.arange(1, len(epochs) + 1), accuracy, color=colour, marker="o", label=name)
        right.plot(seconds, accuracy, color=colour, marker="o", label=name)
    left.set(xlabel="images seen by all ranks", ylabel="validation accuracy", ylim=(0, 1))
    right.set(xlabel="seconds since training began", ylabel="validation accuracy", ylim=(0, 1))
    left.set_xlim(0)
    right.set_xlim(0)
    left.legend(frameon=False)
    return figure
