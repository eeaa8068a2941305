"""An elastic training: how many ranks there are over time, and the loss."""

import itertools

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course.figures.restarts import LOST
from course.figures.style import GREY, rank_colour
from course.hosts.elastic import Training

SAYS = {"kill": "{} dies", "pull_cable": "{} loses its cable", "revive": "{} joins"}


def ranks_and_loss(training: Training) -> Figure:
    """Plot the ranks and the mean loss of each commit interval, over time; what happened to hosts is marked.

    Args:
        training: as course.hosts.elastic.train() returns it.
    """
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8.6, 4.6), layout="constrained", sharex=True, height_ratios=(2, 3)
    )
    plt.close(figure)  # or a notebook would show it twice
    start = training.commits[0].time
    for ranks, group in itertools.groupby(enumerate(training.commits), key=lambda each: each[1].ranks):
        numbers = [number for number, _ in group]
        times = [training.commits[number].time - start for number in numbers]
        colour = rank_colour(ranks - 1)
        above.plot(times, [ranks] * len(times), ".-", color=colour)
        below.plot(times, [training.commits[number].loss for number in numbers], ".-", color=colour)
    for line, (when, event) in enumerate(training.happened):
        for ax in (above, below):
            ax.axvline(when - start, color=LOST, linestyle=":")
        text, height = SAYS[event.do].format(event.host), 1.03 + 0.13 * line
        above.text(when - start, height, text, color=LOST, transform=above.get_xaxis_transform())
    most = max(commit.ranks for commit in training.commits)
    above.set(ylabel="ranks", ylim=(0, most + 0.5), yticks=range(most + 1))
    below.set(
        ylabel="mean loss since the\ncommit before", xlabel="seconds since the first commit; a dot per commit", ylim=0
    )
    for ax in (above, below):
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color=GREY, alpha=0.2)
    return figure
