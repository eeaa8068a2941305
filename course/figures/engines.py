"""Four engines for one training: what each sends where, and its measurements."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from course.engines import HOROVOD, MULTI_WORKER, ONE, PARAMETER_SERVER, Loss, Measured
from course.figures.style import GREY, PALE, RANK_COLOURS, arrow, box, canvas, plots, rank_colour

COLOURS = dict(zip((ONE, HOROVOD, MULTI_WORKER, PARAMETER_SERVER), ("#6b7280", *RANK_COLOURS), strict=False))
SHORT = {MULTI_WORKER: "MultiWorker-\nMirroredStrategy", PARAMETER_SERVER: "ParameterServer-\nStrategy"}
ENDED, CONTINUED = "#D55E00", "#009E73"


def four_engines() -> Figure:
    """Draw where the weights are, and what each engine transfers per step."""
    figure, ax = canvas(9.4, 3.5)
    _panel(ax, 0.1, 1.5, ONE)
    box(ax, 0.25, 1.5, 1.2, 0.9, "process\nall weights", GREY, size=9)
    for x, name, kind in ((1.7, HOROVOD, "rank"), (4.2, MULTI_WORKER, "worker")):
        _panel(ax, x, 2.4, name)
        for index in range(2):
            box(ax, x + 0.1 + index * 1.12, 1.5, 1.08, 0.9, f"{kind} {index}\nall weights", rank_colour(index), size=9)
            arrow(ax, (x + 0.5 + index * 1.12, 1.47), (x + 0.5 + index * 1.12, 1.03), rank_colour(index))
            arrow(ax, (x + 0.75 + index * 1.12, 1.03), (x + 0.75 + index * 1.12, 1.47), GREY)
        box(ax, x + 0.1, 0.55, 2.2, 0.45, "sum of the gradients", GREY, face="white", size=9)
    x = 6.7
    _panel(ax, x, 2.6, PARAMETER_SERVER)
    box(ax, x + 0.75, 2.55, 1.1, 0.45, "chief", GREY, face="white", size=9)
    for index in range(2):
        left = x + 0.15 + index * 1.25
        box(ax, left, 1.5, 1.05, 0.6, f"worker {index}", rank_colour(index), size=9)
        arrow(ax, (x + 1.1 + index * 0.4, 2.52), (left + 0.52, 2.13), GREY, linestyle=":")
        arrow(ax, (left + 0.35, 1.47), (left + 0.35, 1.03), rank_colour(index))
        arrow(ax, (left + 0.7, 1.03), (left + 0.7, 1.47), GREY)
    box(ax, x + 0.15, 0.4, 2.3, 0.6, "parameter server\nall weights", "#E69F00", size=9)
    ax.text(x + 1.3, 1.25, "gradients\nweights", fontsize=8, color=GREY, ha="center", va="center")
    return figure


def _panel(ax: Axes, x: float, width: float, name: str) -> None:
    box(ax, x, 0.1, width, 3.0, face=PALE)
    ax.text(x + width / 2, 3.3, name, color=GREY, fontsize=10, ha="center", va="center")


def engine_costs(measured: dict[str, Measured]) -> Figure:
    """Plot images per second, megabytes per step, and busy cores of each engine while it trains."""
    figure, axes = plots(3, height=2.7)
    figure.set_size_inches(10.5, 2.7)
    columns = {
        "images/sec": [one.images_per_second for one in measured.values()],
        "MB received per step": [one.bytes_a_step / 1e6 for one in measured.values()],
        "busy cores": [one.cpu for one in measured.values()],
    }
    for ax, (title, values) in zip(axes, columns.items(), strict=True):
        for name, value in zip(measured, values, strict=True):
            bar = ax.barh(SHORT.get(name, name), value, color=COLOURS[name], height=0.6)
            ax.bar_label(bar, [f"{value:.0f}" if value >= 100 else f"{value:.1f}"], padding=3)
        ax.set(title=title, xlim=(0, max(values) * 1.25))
        ax.grid(axis="y", visible=False)
        ax.invert_yaxis()
    for ax in axes[1:]:
        ax.set(yticklabels=[])
    return figure


def accuracy_by_time(measured: dict[str, Measured], target: float) -> Figure:
    """Plot the validation accuracy after each epoch over the seconds since the start of the command.

    Args:
        measured: engine -> its measurements.
        target: an accuracy between 0 and 1, drawn as a line.
    """
    figure, (ax,) = plots()
    figure.set_size_inches(8.5, 3.4)
    for name, one in measured.items():
        ax.plot(*zip(*one.accuracies, strict=True), color=COLOURS[name], marker="o", markersize=4, label=name)
    ax.axhline(target, color=GREY, linestyle=":", label=f"{target:.0%}, the target")
    ax.set(title="Accuracy over time", xlabel="seconds since the start", ylabel="accuracy in validation")
    ax.set_xlim(left=0)
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def after_a_kill(losses: list[Loss]) -> Figure:
    """Plot the seconds from the kill of a process to the next epoch, or to the end of the training."""
    figure, (ax,) = plots()
    figure.set_size_inches(8.5, 2.8)
    for loss in losses:
        row = f"{SHORT.get(loss.engine, loss.engine)}\n{loss.killed}".replace("-\n", "")
        bar = ax.barh(row, loss.seconds, color=CONTINUED if loss.went_on else ENDED, height=0.6)
        ax.bar_label(bar, [f"{loss.seconds:.1f} s"], padding=3)
    ax.set(title="A process is killed", xlabel="seconds", xlim=(0, max(loss.seconds for loss in losses) * 1.2))
    ax.grid(axis="y", visible=False)
    ax.invert_yaxis()
    kinds = {"until all processes had ended": ENDED, "until the next epoch began": CONTINUED}
    handles = [Patch(color=colour, label=text) for text, colour in kinds.items()]
    ax.legend(handles=handles, frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    return figure
