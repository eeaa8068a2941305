"""Workers of one training: how they split a batch, which images they get, and the effect of killing one."""

import re
from collections import Counter
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from course.cluster import Task
from course.faults import Failure
from course.figures.restarts import AGAIN, FIRST, LOST
from course.figures.shares import REPEATED, UNUSED
from course.figures.style import GREY, PALE, arrow, box, canvas, plots, rank_colour
from course.launch import Run

_ENDED = re.compile(r"(\d+)/\1 \[=+\] .*? loss: (\S+)")  # what Keras prints at the end of an epoch


def cut_batch(count: int = 2, batch_size: int = 64) -> Figure:
    """Draw a step: each worker reads all data, takes its part of the batch, and adds its gradients to the others'."""
    figure, ax = canvas(9, 3.5)
    width = 8.8 / count
    for index in range(count):
        x, colour = 0.1 + index * width, rank_colour(index)
        middle = x + width / 2 - 0.1
        box(ax, x, 0.1, width - 0.2, 3.3, face=PALE)
        ax.text(x + 0.15, 3.2, f"worker {index}{': the chief' * (index == 0)}", color=GREY, fontsize=10, va="center")
        each = (width - 0.6) / count
        for part in range(count):
            inside = colour + "22" if part == index else "white"
            style = {"face": inside, "size": 9, "color": "black" if part == index else "#9ca3af"}
            text = f"{batch_size} images" if part == index else "left out"
            box(ax, x + 0.2 + part * each, 2.35, each - 0.05, 0.55, text, colour if part == index else GREY, **style)
        arrow(ax, (x + 0.2 + (index + 0.5) * each, 2.32), (middle, 1.83), colour)
        box(ax, x + 0.2, 1.15, width - 0.6, 0.65, "all weights, all optimizer slots", colour, size=9)
        arrow(ax, (middle, 1.12), (middle, 0.83), colour)
        arrow(ax, (middle + 0.25, 0.83), (middle + 0.25, 1.12), GREY)
    box(ax, 0.3, 0.25, 8.2, 0.55, "allreduce: the sum of all gradients, to every worker", GREY, face="white")
    return figure


def shared_out(shares: dict[str, list[list[int]]], samples: int) -> Figure:
    """Draw every image as a square in the colour of the worker that got it in an epoch, one row per way of sharing.

    Args:
        shares: way of sharing -> worker -> numbers of its images, from 0.
        samples: the number of images.
    """
    figure, ax = canvas(9, 0.62 * len(shares) + 0.55)
    width = 4.9 / samples
    for row, (name, workers_had) in enumerate(shares.items()):
        y = 0.62 * (len(shares) - row) - 0.1
        times = Counter(number for had in workers_had for number in had)
        ax.text(0.1, y + 0.2, name, fontsize=10, va="center")
        for number in range(samples):
            owner = next((index for index, had in enumerate(workers_had) if number in had), None)
            face = REPEATED if times[number] > 1 else UNUSED if owner is None else rank_colour(owner)
            colour = GREY if face == UNUSED else "white"
            box(ax, 1.9 + number * width, y, width - 0.04, 0.42, str(number), "white", face=face, size=8, color=colour)
        several, never = sum(count > 1 for count in times.values()), samples - len(times)
        ax.text(6.9, y + 0.2, f"{several} more than once, {never} never", fontsize=9, color=GREY, va="center")
    count = max(map(len, shares.values()))
    keys = [Patch(color=rank_colour(index), label=f"worker {index} alone") for index in range(count)]
    keys += [Patch(color=REPEATED, label="more than once"), Patch(color=UNUSED, label="never")]
    ax.legend(handles=keys, loc="lower center", ncols=len(keys), frameon=False, fontsize=9, bbox_to_anchor=(0.5, -0.06))
    return figure


def one_backup(count: int = 2) -> Figure:
    """Draw which files workers keep: the chief writes backup and logs, all load the backup, the rest is discarded."""
    figure, ax = canvas(9, 3.1)
    chief = rank_colour(0)
    box(ax, 0.1, 0.1, 4.9, 1.15, face=PALE)
    ax.text(0.25, 0.28, "--log-dir, which all workers see", fontsize=9, color=GREY, va="center")
    for name, x in (("backup", 0.25), ("checkpoints, logs", 2.65)):
        box(ax, x, 0.48, 2.2, 0.62, name, chief, family="monospace", size=9)
    width = 8.7 / count
    for index in range(count):
        x, colour = 0.2 + index * width, rank_colour(index)
        box(ax, x, 2.2, width - 0.3, 0.7, f"worker {index}{': the chief' * (index == 0)}", colour)
        if index:
            box(ax, x + width - 1.75, 0.48, 1.4, 0.62, "discarded", GREY, face="white", size=9)
            arrow(ax, (x + width - 1.05, 2.17), (x + width - 1.05, 1.13), colour)
            arrow(ax, (1.9, 1.13), (x + 0.3, 2.17), chief, linestyle="--")
    arrow(ax, (0.8, 2.17), (0.8, 1.13), chief)
    arrow(ax, (1.5, 1.13), (1.5, 2.17), chief, linestyle="--")
    arrow(ax, (3.4, 2.17), (3.4, 1.13), chief)
    ax.text(0.74, 1.72, "saves", fontsize=9, ha="right", va="center")
    ax.text(1.56, 1.85, "load, when started again", fontsize=9, va="center")
    return figure


def told_until(chief: Task, worker: int, began: float, killed: float) -> Failure:
    """Return how far a run came until a worker was killed, from what Keras printed on the chief.

    Args:
        chief: the task that printed.
        worker: the index of the worker that was killed.
        began, killed: when the run was started and the worker killed, in seconds since 1970.
    """
    failure = Failure(worker, began, killed)
    for moment, text in chief.lines:
        if began <= moment <= killed and text.startswith("Epoch "):
            failure.epoch_starts.append(moment)
        elif began <= moment <= killed and (ended := _ENDED.match(text)):
            failure.losses.append(float(ended[2]))
    return failure


def steps_across_restart(whole: Run, failure: Failure, resumed: Run) -> Figure:
    """Plot steps over time and the loss by epoch of three runs: undisturbed, until a worker was killed, and resumed."""
    figure, (left, right) = plots(2, height=3.4)
    per_epoch, total = whole.records[0].epochs[0].steps, len(whole.records[0].batch_ends)
    again = resumed.records[0]
    backed_up = total - len(again.batch_ends)
    wide: dict[str, Any] = {"color": "#d1d5db", "linewidth": 7, "label": "undisturbed run"}
    undisturbed = [whole.records[0].epochs[0].start, *whole.records[0].batch_ends]
    left.plot([end - whole.began for end in undisturbed], range(total + 1), **wide)
    starts = [start - failure.began for start in failure.epoch_starts]
    killed, resumed_at = failure.killed - failure.began, again.epochs[0].start - failure.began
    left.plot(starts, [per_epoch * epoch for epoch in range(len(starts))], color=FIRST, marker="o")
    left.plot([starts[-1], killed], [per_epoch * (len(starts) - 1), backed_up], color=FIRST)
    left.plot([killed, resumed_at], [backed_up] * 2, color=AGAIN, linestyle="--")
    times = [resumed_at, *(end - failure.began for end in again.batch_ends)]
    left.plot(times, range(backed_up, total + 1), color=AGAIN)
    left.text((killed + resumed_at) / 2, backed_up + total / 40, f"step {backed_up}", color=AGAIN, ha="center")
    left.axvline(killed, color=LOST, linestyle=":")
    left.set(title="Steps done", xlabel="seconds since the start", ylabel="steps", xlim=(0, None))

    epochs, done = len(whole.records[0].epochs), len(failure.losses)
    right.plot(range(1, epochs + 1), [epoch.final_logs["loss"] for epoch in whole.records[0].epochs], **wide)
    right.plot(range(1, done + 1), failure.losses, color=FIRST, marker="o", label="until a worker is killed")
    losses = [epoch.final_logs["loss"] for epoch in again.epochs]
    first = epochs - len(losses) + 1
    right.plot(range(first, epochs + 1), losses, color=AGAIN, marker="s", label="started again")
    right.axvline(done + 0.5, color=LOST, linestyle=":", label=f"worker {failure.rank} killed")
    right.set(title="Training loss", xlabel="epoch", ylabel="loss, mean of an epoch", xticks=range(1, epochs + 1))
    right.legend(frameon=False, fontsize=9)
    return figure
