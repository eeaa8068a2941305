"""A learner's own file: put in place from the starter, never overwritten, and shown next to the solution."""

import difflib
import html
import json
import os
import shutil
from pathlib import Path

from IPython import get_ipython
from IPython.core import page
from IPython.display import HTML, Markdown, display

from course import launch, steps
from course.internal import colours, missing_names, navigation

# JupyterLab would break the lines that a cell prints anywhere, also within a word.
WRAP = "<style>.jp-OutputArea-output pre {word-break: normal; overflow-wrap: anywhere}</style>"
UNWRITTEN = "*Your answer*"  # in the cell for the written answer, as released
COLUMN = 64  # characters of each file's side
COMPARED = f"""<style>
.compared table {{font: 11px monospace; border-collapse: collapse}}
.compared td, .compared th {{text-align: left !important; padding: 0 0.4em}}
.compared .diff_next {{display: none}}
.compared .diff_header {{color: {colours.GREY}}}
.compared .diff_add {{background: {colours.PALE_GREEN}}}
.compared .diff_chg {{background: {colours.PALE_YELLOW}}}
.compared .diff_sub {{background: {colours.PALE_RED}}}
</style>"""


def start(number: int | str, directory: str | Path = ".", fresh: bool = False) -> None:
    """Put a step's starter into a directory, unless the learner has a file there already.

    Args:
        number: the step, as a number or a name such as "6b".
        directory: where the step's notebook is.
        fresh: begin again; the present file is kept next to it as a backup.
    """
    step = steps.get(number)
    path = Path(directory) / step.script
    if path.exists() and fresh:
        backup = _free_name(path)
        path.rename(backup)
        print(f"Your {path.name} is kept as {backup.name}.")
    if not path.exists():
        shutil.copyfile(step.starter, path)
    begin(number)


def begin(number: int | str) -> None:
    """Prepare the notebook of a lesson, and show its links: to the lessons around it, the map, and the file to edit."""
    # A lesson imports TensorFlow, too, to look things up.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", launch.LOG_LEVEL)
    if shell := get_ipython():
        missing_names.explain(shell)
        display(HTML(WRAP), Markdown(navigation.links(steps.get(number))))
    _keep_looked_up()


def _keep_looked_up() -> None:
    """Where no one looks, let `?hvd.rank` show its text as an output, which a page of the lesson has, too."""
    shell = get_ipython()
    if shell and "COURSE_HEADLESS" in os.environ:
        shell.set_hook("show_in_pager", page.as_hook(page.display_page), 0)


def _free_name(path: Path) -> Path:
    """Return an unused name next to the file: name.backup_1.py, name.backup_2.py, ..."""
    number = 1
    while (backup := path.with_suffix(f".backup_{number}{path.suffix}")).exists():
        number += 1
    return backup


def solution(number: int | str) -> HTML:
    """Return what the step changes in the program, as a diff that is folded away until it is opened."""
    step = steps.get(number)
    return folded_diff(f"The solution of {step.label}", step.starter.read_text(), step.solution.read_text())


def model_answer(number: int | str, directory: str | Path = ".") -> Markdown | None:
    """Return the model answer to a lesson's written question, once the learner has saved an answer in the lesson.

    Args:
        number: the step.
        directory: where the step's notebook is.
    """
    step = steps.get(number)
    written = _written(Path(directory) / f"{step.name}.ipynb")
    if written in ("", UNWRITTEN):
        print("Write your answer in the cell above and save the lesson (Ctrl+S). Then run this cell to compare.")
        return None
    return Markdown(step.answer.read_text())


def _written(lesson: Path) -> str:
    """Return what is in a saved lesson's cell for the written answer."""
    try:
        cells = json.loads(lesson.read_text(encoding="utf-8"))["cells"]
        return "\n".join("".join(cell["source"]).strip() for cell in cells if cell.get("id") == "written-answer")
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def compare(number: int | str, script: str | Path) -> HTML:
    """Return where a script differs from the step's solution, side by side, folded."""
    files = Path(script), steps.get(number).solution
    yours, ours = (file.read_text().splitlines() for file in files)
    tables = difflib.HtmlDiff(wrapcolumn=COLUMN).make_table(
        yours, ours, "your file", "the solution", context=True, numlines=2
    )
    body = f'<div class="compared">{COMPARED}{tables}</div>' if yours != ours else "No difference."
    return HTML(f"<details><summary>Your file and the solution, side by side</summary>{body}</details>")


def whole_part(number: int | str) -> HTML:
    """Return all that changed from the part's first program to a step's solution, as a folded diff."""
    first = next(step for step in steps.STEPS if step.script == steps.get(1).script)
    return folded_diff("All steps in one diff", first.starter.read_text(), steps.get(number).solution.read_text())


def folded_diff(summary: str, before: str, after: str) -> HTML:
    """Return the lines in which two programs differ, folded under a summary."""
    colour = {"+": colours.GREEN, "-": colours.RED, "@": colours.GREY}
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm="")
    shown = [
        f'<span style="color:{colour.get(line[0], "inherit")}">{html.escape(line)}</span>'
        for line in list(lines)[2:]  # without the two lines that name the files
    ]
    body = "\n".join(shown) or "No difference."
    return HTML(f"<details><summary>{html.escape(summary)}</summary><pre>{body}</pre></details>")
