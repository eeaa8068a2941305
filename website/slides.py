"""The slides of each part: the cells of executed lessons with the tag "slide", which are figures and predictions."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbformat.v4 import new_markdown_cell, new_notebook

from course import steps
from course.steps import Step
from website.pages import for_the_web

TAG = "slide"


def put_together(executed: Path, tree: Path) -> None:
    """Write a notebook of slides for each part to a folder, and a page that lists them.

    In it, the part has a title, a lesson is a column of slides, and a tagged cell is a slide.

    Args:
        executed: the folder that scripts/run wrote; a lesson that is missing there has no figures.
        tree: an empty folder.
    """
    titles = []
    for number, (part, chosen) in enumerate(steps.by_part(), 1):
        titles.append(f"Part {number}: {part.title}")
        cells = [new_markdown_cell(f"# {titles[-1]}"), *(cell for step in chosen for cell in _column(step, executed))]
        deck = new_notebook(cells=cells, metadata={"language_info": {"name": "python"}, "orphan": True})
        (tree / f"part_{number}.ipynb").write_text(json.dumps(deck), encoding="utf-8")
    listed = [f"- [{title}](part_{number}.ipynb)" for number, title in enumerate(titles, 1)]
    (tree / "index.md").write_text("\n".join(["# Slides", "", *listed, ""]), encoding="utf-8")


def _column(step: Step, executed: Path) -> Iterator[dict[str, Any]]:
    """Yield the cells of a lesson's slides: its title and problem, then a heading and text or outputs for each."""
    yield new_markdown_cell(f"## {step.label.capitalize()}: {step.title}\n\n{step.problem}.".replace("?.", "?"))
    found = executed / step.notebook.name
    section = ""
    lesson = json.loads((found if found.exists() else step.notebook).read_text(encoding="utf-8"))
    for cell in lesson["cells"]:
        source = "".join(cell["source"])
        if heading := re.match(r"#+ (.*)", source):
            section = heading[1]
        if TAG not in cell["metadata"].get("tags", []):
            continue
        if cell["cell_type"] == "markdown":
            yield new_markdown_cell(f"### {section}\n\n{source.removeprefix(heading[0]) if heading else source}")
        elif shown := _shown(cell):
            yield new_markdown_cell(f"### {section}")
            yield shown | {"id": f"{step.name}-{cell['id']}"}


def _shown(cell: dict[str, Any]) -> dict[str, Any] | None:
    """Return a code cell as a slide shows it: without its code and what it printed; None if nothing is left."""
    outputs = [output for output in cell["outputs"] if {"image/png", "text/html"} & set(output.get("data", {}))]
    slide = cell | {"outputs": outputs, "metadata": {"tags": ["remove-input"]}}
    for_the_web(slide)
    return slide if outputs else None
