"""A cluster with parameter servers: its connections, the placement of variables, workers' steps, evaluations."""

from math import prod
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from course.figures.restarts import LOST
from course.figures.style import GREY, PALE, arrow, box, canvas, plots, rank_colour
from course.record.records import Record

CHIEF, PS, WORKER, EVALUATOR = rank_colour(2), rank_colour(4), rank_colour(0), rank_colour(3)


def roles(ps: int = 2, workers: int = 2) -> Figure:
    """Draw the roles: the chief schedules steps, workers exchange weights and gradients, the evaluator reads files."""
    figure, ax = canvas(9.6, 4.5)
    box(ax, 0.1, 0.1, 6.3, 4.3, face=PALE)
    ax.text(0.25, 4.22, "the cluster, as TF_CONFIG lists it", color=GREY, fontsize=9, va="center")
    box(ax, 2.15, 3.25, 2.2, 0.7, "chief: coordinator.py", CHIEF)
    box(ax, 7.3, 3.25, 2.1, 0.7, "log folder", GREY, face="white")
    box(ax, 7.3, 0.45, 2.1, 0.7, "evaluator.py", EVALUATOR)
    width = 6.0 / workers
    for index in range(workers):
        x = 0.25 + index * width
        box(ax, x, 1.75, width - 0.2, 0.65, f"worker {index}: its own data", WORKER, size=9)
        arrow(ax, (3.25, 3.22), (x + width / 2, 2.43), CHIEF)
    for index in range(ps):
        x = 0.25 + index * 6.0 / ps
        box(ax, x, 0.3, 6.0 / ps - 0.2, 0.65, f"ps {index}: some of the variables", PS, size=9)
        for worker in range(workers):
            middle = 0.25 + (worker + 0.5) * width - 0.1
            arrow(ax, (middle, 1.72), (x + 3.0 / ps - 0.1, 0.98), WORKER, alpha=0.6, arrowstyle="<|-|>")
    ax.text(3.2, 2.86, "steps", color=CHIEF, fontsize=9, ha="center", bbox={"color": PALE})
    ax.text(3.2, 1.35, "weights, gradients", color=WORKER, fontsize=9, ha="center", va="center", bbox={"color": PALE})
    arrow(ax, (4.38, 3.6), (7.27, 3.6), CHIEF)
    ax.text(6.85, 3.72, "saves", color=CHIEF, fontsize=9, ha="center")
    arrow(ax, (8.35, 3.22), (8.35, 1.18), EVALUATOR)
    ax.text(8.45, 2.2, "reads each\ncheckpoint", color=EVALUATOR, fontsize=9, va="center")
    return figure


def variables(placed: list[tuple[str, list[int], int]], least: int = 256, shown: int = 8) -> Figure:
    """Plot the size in KiB and the parameter server of the largest variables, one bar per shard.

    Args:
        placed: name, shape and parameter server of each variable or shard.
        least: the smallest size of a shard, in KiB.
        shown: the number of bars.
    """
    figure, (ax,) = plots(height=3.6)
    figure.set_size_inches(8.6, 3.6)

    def size(shape: list[int]) -> float:
        return prod(shape) * 4 / 1024

    largest = sorted(placed, key=lambda one: -size(one[1]))[:shown]
    for name, shape, ps in largest:
        row = f"{name}  {' x '.join(map(str, shape))}"
        bar = ax.barh(row, size(shape), color=rank_colour(ps), height=0.65)
        ax.bar_label(bar, [f"{size(shape):.0f}"], padding=3, fontsize=9, color=GREY)
    ax.axvline(least, color=GREY, linestyle=":")
    ax.text(least + 8, len(largest) - 0.9, f"{least} KiB", color=GREY, fontsize=9)
    ax.invert_yaxis()
    ax.set_title("The largest variables and shards", loc="left")
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", labelsize=9)
    ax.set(xlabel="KiB")
    handles = [Patch(color=rank_colour(ps), label=f"on ps {ps}") for ps in sorted({ps for _, _, ps in placed})]
    ax.legend(handles=handles, frameon=False, loc="lower right")
    return figure


def worker_steps(record: Record, began: float, killed: tuple[int, float, float]) -> Figure:
    """Plot the number of steps that each worker has done over time, around the kill and restart of one of them.

    Args:
        record: of the coordinator.
        began: when the run was started, in seconds since 1970.
        killed: which worker was killed, when, and when it was started again, both likewise.
    """
    figure, (ax,) = plots(height=3.6)
    figure.set_size_inches(9, 3.6)
    away, from_, to = killed
    for worker in sorted({worker for worker, _, _ in record.worker_steps}):
        ends = sorted(end - began for index, _, end in record.worker_steps if index == worker)
        label = f"worker {worker}: {len(ends)} steps"
        ax.step(ends, range(1, len(ends) + 1), where="post", color=rank_colour(worker), label=label)
        ax.plot(ends, range(1, len(ends) + 1), "|", color=rank_colour(worker), markersize=7)
    for epoch in record.epochs:
        ax.axvline(epoch.start - began, color="#d1d5db", linewidth=0.8, zorder=0)
    for when, text, side in ((from_, f"worker {away} killed ", "right"), (to, " started again", "left")):
        ax.axvline(when - began, color=LOST, linestyle=":")
        ax.text(when - began, 1.02, text, color=LOST, transform=ax.get_xaxis_transform(), ha=side, fontsize=9)
    back = [end for index, start, end in record.worker_steps if index == away and start > to]
    if back:
        ax.axvspan(from_ - began, min(back) - began, color=LOST, alpha=0.08, linewidth=0)
    ax.set(xlabel="seconds since the start (grey: an epoch begins)", ylabel="steps done")
    ax.legend(frameon=False, loc="upper left")
    return figure


def evaluated(log_dir: str | Path, steps_per_epoch: int, metric: str = "accuracy") -> Figure:
    """Plot a metric by epoch as training and the evaluator measured it, from the TensorBoard logs of both.

    Args:
        log_dir: has tensorboard/train and evaluator/validation in it.
        steps_per_epoch: of the training.
        metric: its name in Keras' logs.
    """
    figure, (ax,) = plots(height=3.4)
    figure.set_size_inches(7.5, 3.4)
    trained = _curve(Path(log_dir, "tensorboard", "train"), f"epoch_{metric}")
    scored = _curve(Path(log_dir, "evaluator", "validation"), f"evaluation_{metric}_vs_iterations")
    ax.plot([epoch + 1 for epoch, _ in trained], [value for _, value in trained], "o-", color=CHIEF, label="training")
    epochs = [step / steps_per_epoch for step, _ in scored]
    ax.plot(epochs, [value for _, value in scored], "s-", color=EVALUATOR, label="evaluator")
    ax.set(xlabel="epochs", ylabel=metric, ylim=(0, None), xticks=range(1, len(trained) + 1))
    ax.legend(frameon=False)
    return figure


def _curve(folder: Path, tag: str) -> list[tuple[int, float]]:
    """Return a TensorBoard curve: step and value of each point."""
    from tensorboard.backend.event_processing.event_accumulator import (
        EventAccumulator,  # imports TensorFlow, which is slow
    )
    from tensorboard.util.tensor_util import make_ndarray

    events = EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()
    return [(event.step, float(make_ndarray(event.tensor_proto))) for event in events.Tensors(tag)]
