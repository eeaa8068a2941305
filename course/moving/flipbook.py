"""The flip-book: pictures for all values of two sliders, of which a page shows one."""

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from IPython.display import HTML

from course.figures.style import RANK_COLOURS
from course.moving.drawing import WIDTH

SCRIPT = Path(__file__).with_name("flipbook.js").read_text(encoding="utf-8")
STYLE = Path(__file__).with_name("flipbook.css").read_text(encoding="utf-8")

Value = int | str  # of a slider, as it is shown
First = TypeVar("First", bound=Value)
Second = TypeVar("Second", bound=Value)


@dataclass(frozen=True)
class Frame:
    """One picture: SVG elements within WIDTH by height, a caption in one line, and more words for screen readers.

    The background is drawn first. Pictures that have the same one share it, so the figure stays small.
    """

    drawing: str
    height: int
    caption: str
    described: str = ""
    background: str = ""

    @property
    def label(self) -> str:
        """Return the words for screen readers."""
        return f"{self.caption} {self.described}".rstrip()


def flip_book(
    title: str,
    sliders: tuple[str, str],
    frames: Mapping[tuple[First, Second], Frame],
    start: tuple[First, Second],
    plays: bool = False,
) -> HTML:
    """Return a figure with two sliders that shows the picture for their values.

    Args:
        title: what the figure shows, for screen readers.
        sliders: the names of both.
        frames: the pictures, by the values of both sliders. The second slider's values may depend on the first one's.
        start: the values of the picture that is shown first, and the only one without JavaScript.
        plays: add a button that moves the second slider.
    """
    firsts = list(dict.fromkeys(first for first, _ in frames))
    seconds = [second for first, second in frames if first == start[0]]
    controls = slider(sliders[0], firsts, start[0]) + slider(sliders[1], seconds, start[1])
    if plays:
        controls += '<button type="button">Play</button>'
    shown = frames[start]
    svg = (
        f'<svg viewBox="0 0 {WIDTH} {shown.height}" role="img" aria-label="{html.escape(shown.label)}">'
        f"{shown.background}{shown.drawing}</svg>"
    )
    return HTML(
        f'<div class="moving" role="group" aria-label="{html.escape(title)}">'
        f"<style>{colours()}{STYLE}</style>"
        f'<div class="moving-controls" hidden>{controls}</div>'
        f'<p class="moving-caption" aria-live="polite">{html.escape(shown.caption)}</p>'
        f'{svg}<script type="application/json">{_data(frames)}</script><script>{SCRIPT}</script></div>'
    )


def _data(frames: Mapping[tuple[First, Second], Frame]) -> str:
    """Return the frames as JSON: the backgrounds, and for each value of the first slider those of the second one."""
    backgrounds = list(dict.fromkeys(frame.background for frame in frames.values()))
    rows: dict[str, list[list[Value]]] = {}
    for (first, second), frame in frames.items():
        place = backgrounds.index(frame.background)
        entry: list[Value] = [str(second), frame.height, frame.caption, frame.described, place, frame.drawing]
        rows.setdefault(str(first), []).append(entry)
    data = {"backgrounds": backgrounds, "rows": list(rows.items())}
    # A script ends at the first "</script" in it, so none may be within the data.
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def slider(name: str, values: Sequence[Value], start: Value) -> str:
    """Return a slider whose positions have these values, with its name and its value above it."""
    place = f'min="0" max="{len(values) - 1}" value="{values.index(start)}"'
    label = f"{html.escape(name)}: <b>{html.escape(str(start))}</b>"
    return f'<label><span>{label}</span><input type="range" {place} autocomplete="off"></label>'


def colours() -> str:
    """Return a style for each rank's colour. Black becomes the colour of the text, which differs on dark pages."""
    shown = [colour if colour != "#000000" else "currentColor" for colour in RANK_COLOURS]
    return "".join(f".moving .m-r{rank}{{--rank:{colour}}}" for rank, colour in enumerate(shown))
