"""Lessons about hosts, where no hosts can be made: their cells show what was recorded."""

import json
import os
import shutil
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from course.hosts import recorded
from course.steps import NOTEBOOKS, ROOT

FOLDERS = sorted(path.parent for path in NOTEBOOKS.glob(f"*/{recorded.NAME}"))
every_lesson = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def code(notebook):
    """Return the code cells of a lesson after the one that sets it up, but for the check."""
    after = [cell.id for cell in notebook.cells].index("setup") + 1
    return [cell for cell in notebook.cells[after:] if cell.cell_type == "code" and cell.id != recorded.CHECK]


@every_lesson
def test_each_cell_of_a_lesson_is_recorded_and_says_nothing_of_the_machine(folder):
    lesson = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    text = (folder / recorded.NAME).read_text()
    assert json.loads(text).keys() == {cell.source for cell in code(lesson)}
    assert str(ROOT) not in text and f"{Path.home()}/" not in text


@pytest.mark.slow
@every_lesson
def test_a_lesson_shows_what_was_recorded_where_no_hosts_can_be_made(folder, tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "env"):  # and not nsenter
        (programs / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{programs}")
    lesson = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    lesson.cells = [cell for cell in lesson.cells if cell.id != recorded.CHECK]
    nbclient.NotebookClient(lesson, timeout=120, resources={"metadata": {"path": folder}}).execute()
    (setup,) = (cell for cell in lesson.cells if cell.id == "setup")
    assert "No hosts can be made here: nsenter is missing" in setup.outputs[0].text
    for cell in code(lesson):
        assert cell.outputs[0].text.startswith(recorded.MARK), cell.source
    assert any("image/png" in output.get("data", {}) for cell in code(lesson) for output in cell.outputs)
