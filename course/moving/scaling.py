"""Speed-up and efficiency for more ranks, by the share of a step that two ranks spend on communication."""

from math import log2

from IPython.display import HTML

from course import scaling
from course.moving.drawing import WIDTH, box, path, text
from course.moving.flipbook import Frame, flip_book

COMPUTE, LATENCY = 0.1, 50e-6  # seconds of an example: to compute in a step, and of each message besides its bytes
SHARES = (1, 5, 10, 20, 35, 50)  # percent of a step, on two ranks
RANKS = (2, 4, 8, 16, 32, 64)

LEFT, TOP, SIDE, ACROSS = 34, 104, 228, 318  # the plot: its left and upper edge, its height and its width


def speed_up() -> HTML:
    """Return a figure of the speed-up on 2 to 64 ranks, for several shares of communication on two ranks."""
    frames = {(f"{share}%", ranks): _frame(share / 100, ranks) for share in SHARES for ranks in RANKS}
    names = "communication on 2 ranks", "ranks"
    return flip_book("Speed-up against the share of communication", names, frames, ("20%", 16))


def step_seconds(share: float, ranks: int) -> float:
    """Return the seconds of a step that first computes and then exchanges its gradients in a ring.

    Args:
        share: the exchange's share of a step on two ranks.
        ranks: their number. One rank exchanges nothing.
    """
    on_two = COMPUTE * share / (1 - share)
    whole = on_two - scaling.allreduce_seconds(0, 2, LATENCY, 0)  # each of two ranks sends all of its gradients once
    return scaling.step_seconds(1, ranks, LATENCY, whole, COMPUTE, overlap=0)


def _frame(share: float, ranks: int) -> Frame:
    seconds = step_seconds(share, ranks)
    efficiency = COMPUTE / seconds
    speedup = ranks * efficiency
    measures = f"speed-up {speedup:.3g}", f"efficiency {efficiency:.0%}"
    x, y = _place(ranks, speedup)
    drawn = [
        _bars(ranks, seconds),
        path("M" + "L".join(f"{x:g} {y:g}" for x, y in _curve(share)), "curve"),
        f"<circle cx='{x:g}' cy='{y:g}' r='6' class='m-dot'/>",
        text(WIDTH - 2, 35, measures[1], "end bold big"),
        text(8, TOP - 10, measures[0], "start bold big"),
    ]
    caption = f"On {ranks} ranks, communication takes {1 - efficiency:.0%} of a step: {', '.join(measures)}."
    return Frame("".join(drawn), TOP + SIDE + 38, caption, background=_axes())


def _bars(ranks: int, seconds: float) -> str:
    """Return a step on one rank and on several: how long it computes, and how long it communicates."""
    begin = 64
    unit = (WIDTH - begin - 2) / step_seconds(SHARES[-1] / 100, RANKS[-1])
    computing, all_of_it = round(COMPUTE * unit, 1), round(seconds * unit, 1)
    return (
        text(0, 34, "1 rank", "start")
        + text(0, 64, f"{ranks} ranks", "start")
        + text(begin + computing / 2, 13, "computes", "small")
        + text(begin + computing + 6, 13, "communicates", "start small")
        + box(begin, 20, computing, 20, "full r0")
        + box(begin, 50, computing, 20, "full r0")
        + box(begin + computing, 50, all_of_it - computing, 20, "again r1")
    )


def _place(ranks: int, speedup: float) -> tuple[float, float]:
    """Return where a speed-up is in the plot, of which both axes are logarithmic."""
    most = log2(RANKS[-1])
    return round(LEFT + ACROSS * log2(ranks) / most, 1), round(TOP + SIDE - SIDE * log2(speedup) / most, 1)


def _curve(share: float) -> list[tuple[float, float]]:
    return [_place(1, 1), *(_place(ranks, ranks * COMPUTE / step_seconds(share, ranks)) for ranks in RANKS)]


def _axes() -> str:
    """Return the plot's lines and numbers, and the ideal: a speed-up of N on N ranks."""
    bottom, right = TOP + SIDE, LEFT + ACROSS
    lines, numbers = [], []
    for number in (1, *RANKS):
        x, y = _place(number, number)
        lines.append(f"M{x:g} {TOP}V{bottom}M{LEFT} {y:g}H{right}")
        numbers += [text(x, bottom + 16, number, "small"), text(LEFT - 6, y + 4, number, "end small")]
    ideal = path(f"M{LEFT} {bottom}L{right} {TOP}", "ideal")
    names = text((LEFT + right) / 2, bottom + 33, "ranks", "small") + text(right - 62, TOP + 22, "ideal", "small")
    return path("".join(lines), "thin") + ideal + "".join(numbers) + names
