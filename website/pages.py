"""All pages in one folder, for Sphinx. Paths are as in the checkout, so links between documents and lessons hold."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from course import steps
from course.steps import ROOT, Step
from website import contents

# Folders whose Markdown files are pages, or whose programs pages link to.
COPIED = ("docs", "grader", "benchmarks", "solutions")
ALONE = ("CONTRIBUTING.md", "CHANGELOG.md")
UNUSED = shutil.ignore_patterns("__pycache__", "answers", ".*")
HUNT = "hunt"  # the folder of pages that are no step's
FRONT = Path(__file__).parent / "front.md"
NOT_RUN = "```{note}\nThis lesson was not run when the site was built, so its outputs are missing.\n```"


def put_together(executed: Path, tree: Path) -> list[Step]:
    """Write every page to a folder, and return the steps whose lessons were not executed.

    Args:
        executed: the folder that scripts/run wrote; may lack any lesson.
        tree: an empty folder.
    """
    for folder in COPIED:
        shutil.copytree(ROOT / folder, tree / folder, ignore=UNUSED)
    for name in ALONE:
        shutil.copy(ROOT / name, tree)
    (tree / "notebooks").mkdir()
    (tree / "notebooks" / HUNT).mkdir()
    for page in (steps.NOTEBOOKS / HUNT).glob("*.ipynb"):
        _write(_orphan(_read(page)), tree / "notebooks" / HUNT / page.name)
    missing = [step for step in steps.in_order() if not _lesson(step, executed, tree)]
    (tree / "index.md").write_text(FRONT.read_text(encoding="utf-8") + contents.side_bar(), encoding="utf-8")
    (tree / "notebooks" / "index.md").write_text(contents.overview(), encoding="utf-8")
    return missing


def for_the_web(cell: dict[str, Any]) -> None:
    """Let links in a cell's outputs lead to pages, and put pictures' alternative texts where myst-nb looks for them."""
    for output in cell.get("outputs", []):
        if "text/html" in output.get("data", {}):
            html = "".join(output["data"]["text/html"])
            output["data"]["text/html"] = re.sub(r'(href="\.\./\w+/\w+)\.ipynb"', r'\1.html"', html)
        if text := output.get("metadata", {}).get("image/png", {}).get("alt"):
            cell["metadata"]["mystnb"] = {"image": {"alt": text}}


def _lesson(step: Step, executed: Path, tree: Path) -> bool:
    """Write the page of a step, and return whether its lesson was executed."""
    page = tree / "notebooks" / step.name / step.notebook.name
    page.parent.mkdir()
    for other in step.notebook.parent.glob("*.ipynb"):
        if other != step.notebook:
            _write(_orphan(_read(other)), page.with_name(other.name))
    found = executed / step.notebook.name
    lesson = _read(found if found.exists() else step.notebook)
    for cell in lesson["cells"]:
        cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), *_shown_how(cell)]
        for_the_web(cell)
    if not found.exists():
        lesson["cells"].insert(1, {"cell_type": "markdown", "id": "not-run", "metadata": {}, "source": NOT_RUN})
    _write(lesson, page)
    return found.exists()


def _shown_how(cell: dict[str, Any]) -> list[str]:
    """Return myst-nb's tags for a cell: folded code is folded here, too, and what only JupyterLab needs is left out."""
    if "parameters" in cell["id"] or "injected-parameters" in cell["metadata"].get("tags", []):
        return ["remove-cell"]
    folded = ["hide-input"] if cell["metadata"].get("jupyter", {}).get("source_hidden") else []
    return [*folded, "remove-output"] if cell["id"] == "setup" else folded


def _read(notebook: Path) -> dict[str, Any]:
    return json.loads(notebook.read_text(encoding="utf-8"))


def _write(notebook: dict[str, Any], page: Path) -> None:
    notebook["metadata"]["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}  # for ?hvd.rank and !ls
    page.write_text(json.dumps(notebook), encoding="utf-8")


def _orphan(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook that only a lesson leads to: the table of contents does not name it."""
    notebook["metadata"]["orphan"] = True
    return notebook
