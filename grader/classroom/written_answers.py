"""A learner's written answer, wherever in a notebook it is, also where strict readers refuse the notebook.

Learners split answer cells, copy them, write below them, and send notebooks that lost metadata or hold merge markers.
All text that can be the answer is taken, so that a person sees it. An answer is blank only if there is none.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import nbformat
from nbformat import NotebookNode

from course.steps import Step

BLANK = "", "YOUR ANSWER HERE"
UNREADABLE = "[The notebook could not be read, and no answer was found in it. Look at the file that was handed in.]"
MISSING = "[The cell for the answer is not in the notebook, and no other text was found.]"
RAW = 5000  # characters shown of a notebook of which the parts are not clear
PARSED = 20 * 2**20  # bytes of a file that is read as JSON: what a larger one holds could take all memory


def cell_of(lesson: NotebookNode) -> NotebookNode:
    """Return the cell of a lesson in which learners write their answer."""
    return next(cell for cell in lesson.cells if cell.metadata.get("nbgrader", {}).get("solution"))


def in_file(content: bytes, step: Step) -> str:
    """Return the answer in a notebook's file, whatever state the file is in; never blank if the file is unreadable."""
    text = content.decode(json.detect_encoding(content), errors="replace")
    if len(content) > PARSED:
        return _near_its_name(text, step) or UNREADABLE
    try:
        found = dict.fromkeys(in_cells(_cells(json.loads(side)), step) for side in _sides(text))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return _near_its_name(text, step) or UNREADABLE
    return "\n\n".join(answer for answer in found if answer)


def _sides(text: str) -> list[str]:
    """Return both sides of a file with git's merge markers; one, if there are none or both are alike."""
    sides: tuple[list[str], list[str]] = [], []
    inside: tuple[list[str], ...] = sides
    for line in text.splitlines(keepends=True):
        match line[:7]:
            case "<<<<<<<":
                inside = sides[:1]
            case "|||||||" if inside is not sides:  # the version before both
                inside = ()
            case "=======" if inside is not sides:
                inside = sides[1:]
            case ">>>>>>>":
                inside = sides
            case _:
                for side in inside:
                    side.append(line)
    return list(dict.fromkeys("".join(side) for side in sides))


def in_cells(cells: Iterable[dict[str, Any]], step: Step) -> str:
    """Return the answer in a notebook's cells; "" if its cell is there, and nothing is written anywhere."""
    lesson = nbformat.read(step.notebook, as_version=4)
    own = cell_of(lesson)
    question = lesson.cells[lesson.cells.index(own) - 1]
    ids = {cell.id for cell in lesson.cells} - {own.id}
    sources = {cell.source.strip() for cell in lesson.cells}
    there, below, after, elsewhere = False, False, list[str](), list[str]()
    for cell in cells:
        source = _text(cell.get("source")).strip()
        if _grade_id(cell) == own.metadata.nbgrader.grade_id or cell.get("id") == own.id:
            there = below = True
        elif cell.get("id") in ids or source in sources:
            below = question.id == cell.get("id") or question.source.strip() == source
            if not below or source in sources:
                continue
            source = source.removeprefix(question.source.strip()).strip()  # written below the question, in its cell
        if source in (*BLANK, own.source.strip()) or _metadata(cell).get("remarks"):  # the latter are ours
            continue
        if below:
            after.append(source)
        elif cell.get("cell_type") != "code":
            elsewhere.append(source)
    found = "\n\n".join(dict.fromkeys(after or elsewhere))
    return found or ("" if there else MISSING)


def _cells(notebook: Any) -> Iterator[dict[str, Any]]:
    """Yield the cells of a notebook of format 3 or 4."""
    parts = [notebook] if "cells" in notebook else notebook["worksheets"]
    for part in parts:
        for cell in part["cells"]:
            if isinstance(cell, dict):
                yield {"source": cell.get("input"), **cell}


def _text(source: Any) -> str:
    """Return a cell's source, which is one text or a list of lines."""
    return "".join(part for part in ([source] if isinstance(source, str) else source or ()) if isinstance(part, str))


def _metadata(cell: dict[str, Any]) -> dict[str, Any]:
    found = cell.get("metadata")
    return found if isinstance(found, dict) else {}


def _grade_id(cell: dict[str, Any]) -> Any:
    named = _metadata(cell).get("nbgrader")
    return named.get("grade_id") if isinstance(named, dict) else None


def _near_its_name(text: str, step: Step) -> str:
    """Return the source that follows the name of the answer's cell in a file that is no JSON; else, what is there."""
    own = cell_of(nbformat.read(step.notebook, as_version=4))
    named = re.search(
        rf'"(grade_id|id)"\s*:\s*"({re.escape(own.metadata.nbgrader.grade_id)}|{re.escape(own.id)})"', text
    )
    if not named:
        return ""
    begin = re.compile(r'"source"\s*:\s*').search(text, named.end())
    if not begin:
        return text[named.end() :][:RAW]
    try:
        answer = _text(json.JSONDecoder().raw_decode(text, begin.end())[0]).strip()
    except (ValueError, RecursionError):
        return text[begin.end() :][:RAW]
    return "" if answer in (*BLANK, own.source.strip()) else answer
