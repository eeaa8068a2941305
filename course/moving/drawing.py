"""Pieces of the pictures: boxes, texts and lines as SVG. Their looks are in flipbook.css, by class."""

import html
from collections.abc import Iterable

WIDTH = 360  # of all pictures: a unit is about a pixel on a narrow page, and 1.5 on a wide one


def text(x: float, y: float, words: object, kind: str = "") -> str:
    """Return words that are centred at x, or begin or end there with the kinds "start" and "end"; y is their base."""
    return f"<text x='{x:g}' y='{y:g}'{_classes(kind)}>{html.escape(str(words))}</text>"


def letters(places: Iterable[float], y: float, characters: str, kind: str = "") -> str:
    """Return single characters in one element, each centred at its place."""
    spread = " ".join(f"{x:g}" for x in places)
    return f"<text x='{spread}' y='{y:g}'{_classes(kind)}>{characters}</text>" if characters else ""


def path(steps: str, kind: str) -> str:
    """Return a path of SVG's commands."""
    return f"<path d='{steps}'{_classes(kind)}/>" if steps else ""


def boxes(corners: Iterable[tuple[float, float]], width: float, height: float, kind: str) -> str:
    """Return boxes of one size in one element, with these upper left corners."""
    return path("".join(f"M{x:g} {y:g}h{width:g}v{height:g}h-{width:g}z" for x, y in corners), kind)


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return one box with this upper left corner."""
    return boxes([(x, y)], width, height, kind)


def down(steps: str, kind: str) -> str:
    """Return a line that ends downwards, with the head of an arrow."""
    return path(f"{steps}m-4 -6l4 6l4 -6", kind)


def rank_kind(rank: int) -> str:
    """Return the class of a rank's colour: colours repeat after eight."""
    return f"r{rank % 8}"


def _classes(kind: str) -> str:
    return f" class='{' '.join(f'm-{each}' for each in kind.split())}'" if kind else ""
