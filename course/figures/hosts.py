"""Several hosts: their networks and disks, the processes of a job, what a step costs on them, and lost hosts."""

from collections.abc import Mapping
from textwrap import shorten

from matplotlib.figure import Figure

from course.figures.restarts import LOST
from course.figures.style import GREY, PALE, box, canvas, plots, rank_colour
from course.hosts.observe import Ending, StepCost

DATA, MANAGEMENT, PROCESS = rank_colour(0), rank_colour(4), rank_colour(2)
WIDTH, LINE = 46, 0.3  # characters of a command that are shown; inches from one line to the next


def hosts() -> Figure:
    """Draw the head and two hosts, their own disks, the folder that they share, and the two networks."""
    figure, ax = canvas(9.6, 4.0)
    for place, name in enumerate(("head", "node1", "node2")):
        x = 0.2 + 3.15 * place
        box(ax, x, 1.75, 2.9, 1.5, face=PALE)
        ax.text(x + 0.15, 3.05, name, color=GREY, fontsize=10, va="center", weight="bold")
        box(ax, x + 0.15, 2.2, 1.25, 0.55, "/scratch", GREY, face="white", size=9)
        box(ax, x + 1.5, 2.2, 1.25, 0.55, "no slots" if name == "head" else "2 slots", PROCESS, size=9)
        for interface, shift, network, colour in (("eth0", 0.7, 0.95, DATA), ("eth1", 2.1, 0.3, MANAGEMENT)):
            ax.plot([x + shift] * 2, [network, 1.75], color=colour, linewidth=1.6, zorder=0.5)  # behind the boxes
            ax.text(x + shift + 0.06, 1.9, interface, color=colour, fontsize=9)
    box(ax, 0.2, 3.45, 9.2, 0.4, "/shared: all hosts see it", GREY, face="white", size=9)
    box(ax, 0.2, 0.8, 9.2, 0.3, "data network 10.77.0.0/24, at the rate that you choose", DATA, size=9, face="#e6f1f8")
    rate = "management network 10.78.0.0/24, ten times slower"
    box(ax, 0.2, 0.15, 9.2, 0.3, rate, MANAGEMENT, size=9, face="#fcf3e0")
    return figure


def process_tree(tree: Mapping[str, list[tuple[int, str]]]) -> Figure:
    """Draw the processes of each host, each below and to the right of its parent.

    Args:
        tree: by host, how many parents a process has there, and its command; as observe.tree() returns it.
    """
    height = sum(len(processes) * LINE + 0.4 for processes in tree.values())
    figure, ax = canvas(9.0, height)
    y = height
    for host, processes in tree.items():
        low = y - len(processes) * LINE - 0.3
        box(ax, 0.1, low, 8.8, y - low - 0.1, face=PALE)
        ax.text(0.25, y - 0.3, host, color=GREY, weight="bold", fontsize=10, va="center")
        above = 0  # the depth of the process above
        for line, (depth, command) in enumerate(processes):
            x, middle = 1.3 + 0.35 * depth, y - 0.3 - LINE * line
            if depth:
                up = middle + LINE * (1 if above == depth else 0.65)  # to its parent, or to the branch above
                ax.plot([x - 0.25, x - 0.25, x - 0.05], [up, middle, middle], color=GREY, linewidth=1)
            text = shorten(command, WIDTH, placeholder=" …")
            colour = PROCESS if command.startswith("python") else "black"
            ax.text(x, middle, text, fontsize=9, va="center", family="monospace", color=colour)
            above = depth
        y = low - 0.1
    return figure


def step_costs(costs: Mapping[str, StepCost]) -> Figure:
    """Plot the seconds of a step, and the bytes that a host receives in it through each interface.

    Args:
        costs: by name of the network.
    """
    figure, (left, right) = plots(2, height=3.4)
    names = list(costs)
    milliseconds = [1000 * cost.seconds for cost in costs.values()]
    left.bar_label(left.bar(names, milliseconds, color=GREY, width=0.6), fmt="%.0f")
    left.set(title="Time of a step", ylabel="milliseconds", ylim=(0, 1.15 * max(milliseconds)))
    low = [0.0] * len(names)
    for interface, colour in (("eth0", DATA), ("eth1", MANAGEMENT)):
        received = [cost.received[interface] / 1e6 for cost in costs.values()]
        right.bar(names, received, bottom=low, color=colour, width=0.6, label=f"through {interface}")
        low = [first + second for first, second in zip(low, received, strict=True)]
    right.set(title="Received in a step by node1", ylabel="MB", ylim=(0, 1.45 * max(low)))
    right.legend(frameon=False, loc="upper right", ncols=2)
    for ax in (left, right):
        ax.tick_params(axis="x", labelsize=8)
    return figure


def after_a_pull(endings: Mapping[str, Ending]) -> Figure:
    """Plot the seconds from a pulled cable to the end of each run.

    Args:
        endings: by the launcher's name.
    """
    figure, (ax,) = plots(height=0.6 * len(endings) + 1.2)
    figure.set_size_inches(8.6, 0.6 * len(endings) + 1.2)
    for name, ending in endings.items():
        bar = ax.barh(name, ending.seconds, color=GREY if ending.by_itself else LOST, height=0.55)
        says = "ends by itself" if ending.by_itself else "says nothing; we ended it"
        ax.bar_label(bar, [f" {ending.seconds:.0f} s: {says}"], fontsize=9)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set(xlabel="seconds since the cable was pulled", xlim=(0, 1.7 * max(end.seconds for end in endings.values())))
    return figure
