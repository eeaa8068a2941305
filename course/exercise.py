"""A learner's own file: put in place from the starter, never overwritten, and shown next to the solution."""

import difflib
import html
import os
import shutil
from pathlib import Path

from IPython import get_ipython
from IPython.core import page
from IPython.display import HTML

from course import steps

COLUMN = 64  # characters of each file's side
COMPARED = """<style>
.compared table {font: 11px monospace; border-collapse: collapse}
.compared td, .compared th {text-align: left !important; padding: 0 0.4em}
.compared .diff_next {display: none}
.compared .diff_header {color: #656d76}
.compared .diff_add {background: #d4f4dd}
.compared .diff_chg {background: #fff3c4}
.compared .diff_sub {background: #fddede}
</style>"""


def start(number: int, directory: str | Path = ".", fresh: bool = False) -> None:
    """Put a step's starter into a directory, unless the learner has a file there already.

    Args:
        number: the step.
        directory: where the step's notebook is.
        fresh: begin again; the present file is kept next to it as a backup.
    """
    _keep_looked_up()
    step = steps.get(number)
    path = Path(directory) / step.script
    if path.exists() and fresh:
        backup = _free_name(path)
        path.rename(backup)
        print(f"Your {path.name} is kept as {backup.name}.")
    if not path.exists():
        shutil.copyfile(step.starter, path)
    print(f"{path.name} of {step.label} is yours to edit.")


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


def solution(number: int) -> HTML:
    """Return what the step changes in the program, as a diff that is folded away until it is opened."""
    step = steps.get(number)
    return folded_diff(f"The solution of {step.label}", step.starter.read_text(), step.solution.read_text())


def compare(number: int, script: str | Path) -> HTML:
    """Return where a script differs from the step's solution, side by side, folded."""
    files = Path(script), steps.get(number).solution
    yours, ours = (file.read_text().splitlines() for file in files)
    tables = difflib.HtmlDiff(wrapcolumn=COLUMN).make_table(
        yours, ours, "your file", "the solution", context=True, numlines=2
    )
    body = f'<div class="compared">{COMPARED}{tables}</div>' if yours != ours else "No difference."
    return HTML(f"<details><summary>Your file and the solution, side by side</summary>{body}</details>")


def whole_part(number: int) -> HTML:
    """Return all that changed from the part's first program to a step's solution, as a folded diff."""
    first = next(step for step in steps.STEPS if step.script == steps.get(1).script)
    return folded_diff("All steps in one diff", first.starter.read_text(), steps.get(number).solution.read_text())


def folded_diff(summary: str, before: str, after: str) -> HTML:
    """Return the lines in which two programs differ, folded under a summary."""
    colours = {"+": "#1a7f37", "-": "#c9372c", "@": "#656d76"}
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm="")
    shown = [
        f'<span style="color:{colours.get(line[0], "inherit")}">{html.escape(line)}</span>'
        for line in list(lines)[2:]  # without the two lines that name the files
    ]
    body = "\n".join(shown) or "No difference."
    return HTML(f"<details><summary>{html.escape(summary)}</summary><pre>{body}</pre></details>")
