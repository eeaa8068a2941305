"""The steps of a training: what each rank does when, by the spans that it has recorded."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from course.figures.style import GREY, RANK_COLOURS, plots
from course.hunt.spans import LETTERS, Span, read

COLOURS = dict(
    zip(LETTERS, (RANK_COLOURS[2], RANK_COLOURS[3], "#e5e7eb", RANK_COLOURS[1], RANK_COLOURS[0]), strict=True)
)


def spans(recorded: str | Path | Sequence[Span], seconds: float = 2) -> Figure:
    """Plot the spans of each rank over time: a bar per span, in the colour of its kind.

    Input is drawn below the rest, since a rank can read a batch while it computes.

    Args:
        recorded: the spans, or the file that has them; see course.hunt.spans.
        seconds: that are shown, from the first span on.

    Raises:
        OSError, ValueError: as course.hunt.spans.read() does.
    """
    found = read(recorded) if isinstance(recorded, str | Path) else recorded
    shown = [span for span in found if span.start < seconds]
    ranks = sorted({span.rank for span in shown})
    figure, (ax,) = plots(height=0.75 * len(ranks) + 1.3)
    figure.set_figwidth(9)
    for span in shown:
        low, height = (0.16, 0.16) if span.kind == "input" else (-0.32, 0.44)
        ax.broken_barh(
            [(span.start, span.end - span.start)], (span.rank + low, height), color=COLOURS[span.kind], linewidth=0
        )
    ax.set(xlabel="seconds", yticks=ranks, xlim=(0, min(seconds, max(span.end for span in shown))))
    ax.set_yticklabels([f"rank {rank}" for rank in ranks])
    ax.invert_yaxis()
    ax.grid(visible=False)
    kinds = [kind for kind in LETTERS if any(span.kind == kind for span in shown)]
    keys = [Patch(facecolor=COLOURS[kind], edgecolor=GREY, linewidth=0.5, label=kind) for kind in kinds]
    ax.legend(handles=keys, frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(keys))
    return figure
