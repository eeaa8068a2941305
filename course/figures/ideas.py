"""Diagrams of the first part's ideas, for the number of ranks that the lesson runs."""

from matplotlib.figure import Figure

from course.figures.style import GREY, PALE, arrow, box, canvas, plots, rank_colour


def pinning(hosts: int = 2, slots: int = 2) -> Figure:
    """Draw which GPU each process takes: that of its local rank. The second host has none with its rank's number."""
    figure, ax = canvas(9, 3.2)
    width = 8.6 / hosts - 0.3
    for host in range(hosts):
        x = 0.2 + host * (width + 0.3)
        box(ax, x, 0.1, width, 3.0, face=PALE)
        ax.text(x + 0.12, 2.88, f"host {host}", color=GREY, fontsize=10, va="center")
        each = (width - 0.2) / slots
        for slot in range(slots):
            rank = host * slots + slot
            left = x + 0.15 + slot * each
            box(ax, left, 1.75, each - 0.1, 0.9, f"rank {rank}\nlocal rank {slot}", rank_colour(rank))
            arrow(ax, (left + each / 2 - 0.05, 1.72), (left + each / 2 - 0.05, 1.08), rank_colour(rank))
            box(ax, left, 0.25, each - 0.1, 0.8, f"GPU {slot}", GREY, face="white")
    return figure


def one_voice(np: int = 4) -> Figure:
    """Draw ranks that all train, of which one prints."""
    figure, ax = canvas(9, 2.1)
    width = 8.6 / np
    for rank in range(np):
        x = 0.2 + rank * width
        box(ax, x, 0.1, width - 0.2, 0.8, f"rank {rank}\nverbose = {int(rank == 0)}", rank_colour(rank))
    box(ax, 0.2, 1.3, 5.2, 0.65, "Epoch 1/40 … 1875/1875 … accuracy: 0.53", GREY, face="white", family="monospace")
    arrow(ax, (0.2 + (width - 0.2) / 2, 0.93), (0.2 + (width - 0.2) / 2, 1.27), rank_colour(0))
    return figure


def allreduce(np: int = 4) -> Figure:
    """Draw an allreduce: every rank sends its gradient and receives the mean of all."""
    figure, ax = canvas(9, 3.4)
    width = 8.6 / np
    box(ax, 0.2, 1.4, 8.4, 0.6, "allreduce: the mean of all ranks' gradients", face=PALE)
    for rank in range(np):
        x = 0.2 + rank * width
        middle = x + (width - 0.2) / 2
        box(ax, x, 2.5, width - 0.2, 0.8, f"rank {rank}: own batch\nown gradient $g_{rank}$", rank_colour(rank))
        arrow(ax, (middle, 2.47), (middle, 2.03), rank_colour(rank))
        arrow(ax, (middle, 1.37), (middle, 0.93))
        box(ax, x, 0.1, width - 0.2, 0.8, f"rank {rank}\n$w \\leftarrow w - \\eta\\,\\bar{{g}}$", rank_colour(rank))
    return figure


def broadcast(np: int = 4) -> Figure:
    """Draw a broadcast: rank 0's weights replace every other rank's."""
    figure, ax = canvas(9, 2.9)
    width = 8.6 / np
    for rank in range(np):
        x = 0.2 + rank * width
        box(ax, x, 1.9, width - 0.2, 0.8, f"rank {rank} starts\nwith $w_{rank}$", rank_colour(rank))
        box(ax, x, 0.1, width - 0.2, 0.8, f"rank {rank} continues\nwith $w_0$", rank_colour(0))
        arrow(ax, (0.2 + (width - 0.2) / 2, 1.87), (x + (width - 0.2) / 2, 0.93), rank_colour(0))
    return figure


def shared_epoch(np: int = 4) -> Figure:
    """Plot each rank's share of an epoch, before and after the steps are divided by the number of ranks."""
    figure, axes = plots(2, height=2.6)
    for ax, parts, title in (
        (axes[0], 1, "len(train_iter) steps per rank"),
        (axes[1], np, "len(train_iter) // size steps"),
    ):
        for rank in range(np):
            ax.barh(rank, 1 / parts, color=rank_colour(rank), height=0.6)
        ax.set(title=title, xlabel="passes of one rank over the data set, per epoch", xlim=(0, 1.05), yticks=range(np))
        ax.set_yticklabels([f"rank {rank}" for rank in range(np)])
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
    return figure


def averaged_metrics(np: int = 4) -> Figure:
    """Draw the averaging of metrics: each rank measures its own share, and callbacks should read the mean."""
    figure, ax = canvas(9, 3.4)
    width = 8.6 / np
    shares = [0.87, 0.83, 0.86, 0.82, 0.88, 0.81, 0.85, 0.84][:np]
    mean = sum(shares) / len(shares)
    box(ax, 0.2, 1.4, 8.4, 0.6, "MetricAverageCallback: allreduce of every metric", face=PALE)
    for rank, accuracy in enumerate(shares):
        x = 0.2 + rank * width
        middle = x + (width - 0.2) / 2
        verdict = "stop" if accuracy >= 0.85 else "continue"
        box(ax, x, 2.5, width - 0.2, 0.8, f"rank {rank}: {accuracy:.2f}\n“{verdict}”", rank_colour(rank))
        arrow(ax, (middle, 2.47), (middle, 2.03), rank_colour(rank))
        arrow(ax, (middle, 1.37), (middle, 0.93))
        box(ax, x, 0.1, width - 0.2, 0.8, f"rank {rank}: {mean:.3f}\n“{'stop' if mean >= 0.85 else 'continue'}”", GREY)
    return figure


def step_anatomy(np: int = 4) -> Figure:
    """Plot a step, in which gradients are exchanged while others are computed."""
    figure, (ax,) = plots(height=2.8)
    figure.set_size_inches(8, 2.8)
    forward, backward, after = 0.35, 0.65, 0.15  # seconds, made up
    last = 0.97, forward + backward + after - 0.97
    exchanged = (0.55, 0.2), (0.77, 0.18), last  # starts and lengths: each begins when its gradients are ready
    for rank in range(np):
        ax.barh(rank - 0.15, forward, color=rank_colour(rank), height=0.4)
        ax.barh(rank - 0.15, backward, left=forward, color=rank_colour(rank), height=0.4, alpha=0.6)
        ax.broken_barh(exchanged, (rank + 0.08, 0.25), color="#6b7280")
    ax.set(title="One step", xlabel="time", xticks=[], yticks=range(np), xlim=(0, 1.3))
    ax.set_yticklabels([f"rank {rank}" for rank in range(np)])
    ax.text(forward / 2, -0.5, "forward", ha="center", fontsize=9)
    ax.text(forward + backward / 2, -0.5, "backward", ha="center", fontsize=9)
    ax.text(forward + backward + after / 2, np - 0.4, "allreduce", ha="center", fontsize=9)
    ax.set_ylim(np - 0.2, -0.9)
    ax.grid(axis="y", visible=False)
    return figure
