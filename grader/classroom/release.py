"""What learners get: a step's lesson with a graded cell for each of its checks, and the starter.

Both are derived, from the registry of steps and from solutions/, so what an instructor tried out next to a lesson is
never released with it.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import NbGraderPreprocessor

from course import steps
from course.steps import Step
from grader import checks
from grader.checks.part import Check

SCHEMA = 3  # of nbgrader's metadata
CHECK = "check-run"  # the id of the cell in every lesson that runs the check
ANSWERS = {"solution", "model-answer"}  # and of those that show the solution and the answer to the lesson's question


def step_of(assignment: str) -> Step:
    """Return the step that an assignment is.

    Raises:
        KeyError: there is none of that name.
    """
    named = {step.name: step for step in steps.STEPS}
    if assignment not in named:
        raise KeyError(f"There is no assignment {assignment}; there are {', '.join(named)}.")
    return named[assignment]


def lesson(step: Step) -> NotebookNode:
    """Return the step's lesson as learners get it."""
    return prepared(step, nbformat.read(step.notebook, as_version=4))


def prepared(step: Step, notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without its answers and with a graded cell for each check."""
    notebook.cells = [cell for cell in notebook.cells if cell.get("id") not in ANSWERS]
    if step.has_exercise:
        notebook.cells += [_graded(check) for check in checks.of(step.number).up_to(step.number)]
    return notebook


def grade_id(check: Check[Any]) -> str:
    """Return the id of a check's cell in the gradebook: its step, with its function's name where that has several."""
    alone = len(checks.of(check.step.number).of(check.step.number)) == 1
    return check.step.name if alone else f"{check.step.name}_{check.judge.__name__}"


def _graded(check: Check[Any]) -> NotebookNode:
    name = grade_id(check)
    points = f"{check.points} point{'s' * (check.points != 1)}"
    step = check.step.short_label
    step = step if step.isdecimal() else json.dumps(step)
    source = f"# {points}\nreport.require({step}, {json.dumps(check.description, ensure_ascii=False)})"
    cell = nbformat.v4.new_code_cell(source, id=name.replace("_", "-")[:64])
    cell.metadata.nbgrader = {
        "schema_version": SCHEMA,
        "grade": True,
        "solution": False,
        "locked": True,
        "task": False,
        "grade_id": name,
        "points": check.points,
        "cell_type": "code",
    }
    return cell


class AddChecks(NbGraderPreprocessor):
    """First of what Validate does to a notebook: a lesson of the course's own has its checks as cells then, too."""

    def preprocess(self, nb, resources):
        """Add the graded cells to a lesson; an assignment has them."""
        source = next((cell.source for cell in nb.cells if cell.get("id") == CHECK), "")
        named = re.search(r"check\(step=\W?([\w ]+)", source)
        if named and not any(utils.is_grade(cell) and cell.cell_type == "code" for cell in nb.cells):
            prepared(steps.get(named[1]), nb)
        return nb, resources


class Prepare(NbGraderPreprocessor):
    """First of what nbgrader does to a lesson that it makes an assignment of."""

    def preprocess(self, nb, resources):
        """Prepare the lesson, and ensure that only the starter is released with it."""
        step = step_of(resources["nbgrader"]["assignment"])
        converter = self.parent.parent
        folder = Path(converter.coursedir.format_path(converter.coursedir.release_directory, ".", step.name))
        for path in folder.iterdir() if folder.exists() else ():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != f"{step.name}.ipynb":
                path.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        if step.has_exercise:
            shutil.copyfile(step.starter, folder / step.script)
        return prepared(step, nb), resources
