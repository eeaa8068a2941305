"""Draw docs/architecture.png, the picture of docs/architecture.md: python docs/architecture.py [FILE]."""

import sys
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course.figures.style import GREY, RANK_COLOURS, arrow, box, canvas

BLUE, RED, GREEN, PINK, ORANGE, *_ = RANK_COLOURS
ROOMS = {
    "judge": GREY,
    "runner": BLUE,
    "checks": GREEN,
    "reading": ORANGE,
    "report": PINK,
    "sandboxed": RED,
}
BOUNDARY = 2.65  # inches from the bottom


def step(ax: Axes, number: str, x: float, y: float, width: float, file: str, what: str, room: str) -> None:
    """Draw a file that a script's judgement goes through, with its place in the reading list."""
    box(ax, x, y, width, 0.75, colour=ROOMS[room], face="white")
    ax.text(x + width / 2, y + 0.51, f"{number}  {file}".strip(), ha="center", va="center", fontsize=9, weight="bold")
    ax.text(x + width / 2, y + 0.22, what, ha="center", va="center", fontsize=8.5)


def region(ax: Axes, x: float, y: float, width: float, height: float, title: str, colour: str) -> None:
    """Draw a process, or a group of them, with a title in its upper left corner."""
    box(ax, x, y, width, height, colour=colour, face=colour + "14")
    ax.text(x + 0.15, y + height - 0.2, title, va="center", fontsize=9, color="#374151")


def way_in(ax: Axes) -> None:
    """Draw the judge's process, up to the job that it sends."""
    step(ax, "1", 0.4, 7.15, 1.75, "__main__.py", "command line", "judge")
    step(ax, "2", 2.45, 7.15, 1.75, "judge.py", "one script, one report", "judge")
    step(ax, "", 4.5, 7.15, 1.9, "reading/parsing.py", "parses, runs nothing", "reading")
    step(ax, "3", 6.7, 7.15, 1.75, "checks/part.py", "clusters of the step", "checks")
    step(ax, "4", 8.75, 7.15, 1.9, "runner/pool.py", "sandbox and job", "runner")
    for start, end in ((2.15, 2.45), (4.2, 4.5), (6.4, 6.7), (8.45, 8.75)):
        arrow(ax, (start, 7.52), (end, 7.52))
    arrow(ax, (9.9, 7.15), (9.9, 4.2))
    ax.text(9.8, 6.0, "job: script,\nclusters,\narguments", fontsize=8.5, va="center", ha="right")


def way_back(ax: Axes) -> None:
    """Draw the judge's process, from the answer to the report."""
    step(ax, "", 6.5, 5.0, 1.75, "runner/answers.py", "decodes the facts", "runner")
    step(ax, "8", 3.4, 5.0, 2.45, "checks/horovod/epochs.py", "compares with the solution", "checks")
    step(ax, "9", 0.4, 5.0, 1.9, "report/text.py", "shows the report", "report")
    step(ax, "", 3.4, 6.1, 2.45, "runner/expectations.py", "the solution's answer, stored", "runner")
    arrow(ax, (6.5, 5.37), (5.85, 5.37))
    arrow(ax, (3.4, 5.37), (2.3, 5.37))
    ax.text(2.85, 5.46, "outcomes", fontsize=8.5, ha="center")
    arrow(ax, (4.62, 6.1), (4.62, 5.75))


def processes(ax: Axes) -> None:
    """Draw what runs a script: fork server, supervisor and ranks."""
    step(ax, "", 8.75, 3.4, 2.05, "runner/fork_server.py", "imports once, then forks", "runner")
    step(ax, "5", 0.5, 3.15, 7.75, "runner/supervisor.py", "starts the ranks, watches and ends them", "runner")
    arrow(ax, (8.75, 3.6), (8.25, 3.6))
    arrow(ax, (7.37, 3.9), (7.37, 5.0))
    ax.text(7.45, 4.47, "answer", fontsize=8.5, va="center")
    for rank, left in enumerate((0.5, 3.1, 5.7)):
        box(ax, left, 0.5, 2.55, 1.8, colour=RED, face="white")
        ax.text(left + 1.27, 2.1, f"rank {rank}", ha="center", va="center", fontsize=9)
        numbers = ("6  ", "7  ") if rank == 0 else ("", "")
        for height, text in ((1.77, f"{numbers[0]}sandboxed/rank.py"), (1.42, f"{numbers[1]}…/horovod_recorder.py")):
            weight = "bold" if rank == 0 else "normal"
            ax.text(left + 1.27, height, text, ha="center", va="center", fontsize=9, weight=weight)
        box(ax, left + 0.3, 0.65, 1.95, 0.5, "the learner's script", RED, size=9)
        arrow(ax, (left + 0.35, 3.15), (left + 0.35, 2.3))
        arrow(ax, (left + 0.85, 2.3), (left + 0.85, 3.15), RED)
        ax.text(left + 0.95, 2.9, "facts, output", fontsize=8.5, va="center", color=RED)


def rooms(ax: Axes) -> None:
    """Draw the legend."""
    ax.text(0.4, 6.9, "Colours of the rooms", fontsize=9, va="center")
    for number, (room, colour) in enumerate(ROOMS.items()):
        x, y = 0.4 + 1.35 * (number // 4), 6.6 - 0.22 * (number % 4)
        box(ax, x, y, 0.3, 0.16, colour=colour)
        ax.text(x + 0.4, y + 0.08, room, fontsize=9, va="center")


def draw() -> Figure:
    """Return the picture."""
    figure, ax = canvas(11.1, 8.5)
    region(ax, 0.2, 4.75, 10.7, 3.55, "The judge's process: trusted. The learner's code never runs here.", GREY)
    region(
        ax,
        0.3,
        0.3,
        8.15,
        4.0,
        "Sandbox of one script: sandbox/policy.py decides what it may read and write",
        BLUE,
    )
    ax.axhline(BOUNDARY, color=RED, linewidth=2.2, linestyle=(0, (5, 2)))
    ax.text(8.75, BOUNDARY + 0.16, "Trust boundary", fontsize=10, weight="bold", color=RED, va="center")
    below = "Below: grader/sandboxed,\nin one process with the script.\nIts facts are untrusted."
    ax.text(8.75, BOUNDARY - 0.1, below, fontsize=8.5, color=RED, va="top")
    way_in(ax)
    way_back(ax)
    processes(ax)
    rooms(ax)
    return figure


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")
    draw().savefig(target, dpi=100, metadata={"Software": None})
