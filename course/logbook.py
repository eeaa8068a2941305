"""The logbook: what the learner's program reached after each step, kept in a file, shown as a table and a figure."""

import base64
import io
import os
from pathlib import Path

import msgspec
from matplotlib.figure import Figure

from course.figures.style import plots, rank_colour
from course.internal import kept
from course.launch import Run
from course.steps import NOTEBOOKS

FILE = Path(os.environ.get("COURSE_LOGBOOK", NOTEBOOKS / "logbook.json"))  # a headless run has its own


class Line(msgspec.Struct, array_like=True):
    """What the program reached in a lesson's run."""

    ranks: int
    epochs: int
    images_per_second: float  # images of the training set, divided by the seconds that the last epoch trained
    accuracy: float  # on the validation images, as rank 0's callbacks read it after the last epoch
    seconds: float  # from the first epoch's start to the last epoch's end, with validation


class Logbook:
    """All lines of a logbook."""

    def __init__(self, file: Path | None = None):
        """Read the lines from a file, by their steps; none where it is missing or damaged."""
        self.lines = {int(step): line for step, line in kept.read(file or FILE, Line).items()}

    def _repr_html_(self) -> str:
        """Return the table and the figure for a notebook."""
        if not self.lines:
            return "<p>Your logbook is empty. Each lesson from step 0 on adds a line.</p>"
        names = "after step", "ranks", "epochs", "images/sec", "validation accuracy", "seconds of training"
        rows = [
            (
                step,
                line.ranks,
                line.epochs,
                f"{line.images_per_second:.0f}",
                f"{line.accuracy:.0%}",
                f"{line.seconds:.0f}",
            )
            for step, line in sorted(self.lines.items())
        ]
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{value}</td>' for value in row)}</tr>" for row in rows)
        with io.BytesIO() as picture:
            self.figure().savefig(picture, format="png", dpi=100)
            encoded = base64.b64encode(picture.getvalue()).decode()
        alt = "Validation accuracy and images per second after each step, as in the table"
        return (
            "<p><b>Your logbook</b>: what your program reached after each step of the first part</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f'<img alt="{alt}" src="data:image/png;base64,{encoded}">'
        )

    def figure(self) -> Figure:
        """Plot accuracy and images per second over the steps."""
        figure, (left, right) = plots(2, height=2.6)
        steps = sorted(self.lines)
        names = [f"{step}" for step in steps]
        accuracies = [self.lines[step].accuracy for step in steps]
        rates = [self.lines[step].images_per_second for step in steps]
        for ax, values, labels in (
            (left, accuracies, [f"{value:.0%}" for value in accuracies]),
            (right, rates, [f"{value:.0f}" for value in rates]),
        ):
            colours = [rank_colour(0) if step == steps[-1] else f"{rank_colour(0)}66" for step in steps]
            bars = ax.bar(names, values, color=colours, width=0.6)
            ax.bar_label(bars, labels, fontsize=9)
            ax.set_xlabel("after step")
        left.set(title="Validation accuracy", ylim=(0, 1))
        right.set(title="Images per second", ylim=(0, 1.2 * max(rates)))
        return figure


def keep(step: int, run: Run, train_samples: int, file: Path | None = None) -> Logbook:
    """Keep what a run of the learner's program reached, in place of an earlier line of that step, and return all lines.

    Args:
        step: the number of the lesson.
        run: the run; its script validates in each epoch.
        train_samples: images in the training set.
        file: where to.
    """
    epochs = run.records[0].epochs
    last = epochs[-1]
    line = Line(
        run.np,
        len(epochs),
        train_samples / (last.train_end - last.start),
        last.final_logs["val_accuracy"],
        last.end - epochs[0].start,
    )
    logbook = Logbook(file)
    logbook.lines[step] = line
    kept.write(file or FILE, {str(number): each for number, each in logbook.lines.items()})
    return logbook
