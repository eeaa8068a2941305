"""Validate, as JupyterLab's button and as nbgrader's command: it fails where the check fails, in a lesson as well."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbgrader import utils

from course.steps import ROOT, get
from grader import checks
from grader.classroom import release


def test_only_a_lesson_gets_its_checks_as_cells():
    for step in (get(0), get(1), get(14), get(101)):
        notebook = nbformat.read(step.notebook, as_version=4)
        release.AddChecks().preprocess(notebook, {})
        graded = [cell for cell in notebook.cells if utils.is_grade(cell) and cell.cell_type == "code"]
        assert bool(graded) == step.has_exercise
        before = len(notebook.cells)
        release.AddChecks().preprocess(notebook, {})
        assert len(notebook.cells) == before


@pytest.mark.parametrize("typed", ['"capstone 1"', '"capstone_1"', "'capstone 1'"])
def test_the_name_of_a_capstone_is_read_however_it_is_typed(typed):
    cell = nbformat.v4.new_code_cell(f"report = check(step={typed}, script=script)", id=release.CHECK)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    release.AddChecks().preprocess(notebook, {})
    assert len(notebook.cells) == 1 + len(checks.of(101).up_to(101))


@pytest.mark.parametrize("number", [101, 102, 103])
def test_a_learner_reads_the_name_of_a_capstone_and_never_its_number(number):
    sources = [cell.source for cell in release.lesson(get(number)).cells]
    sources += [cell.source for cell in nbformat.read(get(number).notebook, as_version=4).cells]
    assert any(f'report.require("{get(number).label}", ' in source for source in sources)
    assert not [source for source in sources if re.search(r"\b10[123]\b", source)]


@pytest.mark.slow
@pytest.mark.parametrize(("done", "says"), [(False, "never initialises Horovod"), (True, "Success!")])
def test_a_lesson_is_valid_once_its_check_passes(done, says, tmp_path):
    step = get(1)
    (tmp_path / step.script).write_text((step.solution if done else step.starter).read_text())
    lesson = nbformat.read(step.notebook, as_version=4)
    lesson.cells = [cell for cell in lesson.cells if cell.get("id") in ("parameters", release.CHECK)]
    nbformat.write(lesson, tmp_path / step.notebook.name)
    found = subprocess.run(
        [sys.executable, "-m", "nbgrader", "validate", step.notebook.name],
        cwd=tmp_path,
        env=os.environ | {"JUPYTER_CONFIG_PATH": str(ROOT / "grader"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert says in found.stdout, found.stdout + found.stderr
