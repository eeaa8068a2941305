"""Alternative texts for the figures of an executed lesson, for readers who cannot see them."""

import re
from typing import Any

from course import figures

_FIGURE = re.compile(r"^figures\.(\w+)\((?s:.*)\)[^()\n]*\Z", re.M)  # the last expression; a comment may follow


def describe(lesson: dict[str, Any]) -> None:
    """Give the figures in the outputs an alternative text, where nbconvert and others look for it.

    A lesson shows a figure by a call at the end of a cell, such as figures.allreduce(np=4). The first line of that
    function's docstring says what it draws. A learner's own picture stays as it is.

    Args:
        lesson: the notebook, with source and outputs of its cells.
    """
    for cell in lesson["cells"]:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}) and (name := _FIGURE.search("".join(cell["source"]))):
                _verb, shown = getattr(figures, name[1]).__doc__.splitlines()[0].split(maxsplit=1)
                output["metadata"]["image/png"] = {"alt": shown[0].upper() + shown[1:]}
