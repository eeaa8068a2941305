"""Lessons about hosts, where no hosts can be made: their cells show what was recorded."""

import json
import os
import shutil
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from course import progress, puzzle
from course.hosts import recorded
from course.steps import NOTEBOOKS, ROOT

FOLDERS = sorted(path.parent for path in NOTEBOOKS.glob(f"*/{recorded.NAME}"))
every_lesson = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def code(notebook):
    """Return the code cells after the one that sets a lesson up, but for those that look at the learner's words."""
    after = [cell.id for cell in notebook.cells].index("setup") + 1
    cells = [cell for cell in notebook.cells[after:] if cell.cell_type == "code"]
    return [cell for cell in cells if not recorded.LIVE.fullmatch(cell.id)]


@every_lesson
def test_each_cell_of_a_lesson_is_recorded_and_says_nothing_of_the_machine(folder):
    lesson = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    text = (folder / recorded.NAME).read_text()
    assert json.loads(text).keys() == {cell.source for cell in code(lesson)}
    assert str(ROOT) not in text and f"{Path.home()}/" not in text


class Shell:
    """As much of a notebook's shell as recorded.instead() uses."""

    def __init__(self):
        self.user_ns = {}
        self.input_transformers_cleanup = []


@every_lesson
@pytest.mark.parametrize(
    ("of", "says"), [(1, "Your prediction is right."), (100, "You predicted"), (None, "No prediction")]
)
def test_a_prediction_is_answered_where_a_lesson_is_recorded(folder, of, says, tmp_path, monkeypatch, capsys):
    lesson = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    cells = [cell for cell in lesson.cells if cell.id.endswith("-check") and "puzzle.predicted(" in cell.source]
    monkeypatch.setattr(recorded, "forbidden", lambda: "No hosts can be made here.")
    shell = Shell()
    monkeypatch.setattr(recorded, "get_ipython", lambda: shell)
    monkeypatch.setattr(progress, "FILE", tmp_path / "progress.json")
    recorded.instead(folder)
    (in_its_place,) = shell.input_transformers_cleanup
    capsys.readouterr()
    kept = json.loads((folder / recorded.NAME).read_text())
    assert cells
    for cell in cells:
        values = recorded.measured(kept[cell.source])
        assert len(values) == cell.source.count("puzzle.predicted("), "run the lesson and record it again"
        replaced = "".join(in_its_place(cell.source.splitlines(keepends=True)))
        exec(replaced, {"puzzle": puzzle, "guess": of and of * values[0]})
        assert capsys.readouterr().out.startswith(f"{recorded.MARK}\n{says}")
    answer = next(cell.source for cell in lesson.cells if cell.id == "puzzle-answer")
    assert in_its_place([answer]) == [answer], "the learner's own prediction is kept"


def test_a_run_that_no_one_looks_at_shows_and_notes_what_was_measured_and_others_do_not(monkeypatch):
    noted = []
    monkeypatch.delenv("COURSE_HEADLESS", raising=False)
    monkeypatch.setattr(puzzle, "publish_display_data", noted.append)
    puzzle.predicted(4, "batches", None, 8, "This is why.")
    assert noted == []
    monkeypatch.setenv("COURSE_HEADLESS", "1")
    for measured in (8, 1.5, "Horovod", float("inf")):
        puzzle.predicted(4, "batches", None, measured, "This is why.")
    assert [data["text/markdown"] for data in noted] == [
        f"**Measured:** {shown}. This is why." for shown in (8, 1.5, "Horovod", "inf")
    ]
    assert [data.get(puzzle.MEASURED) for data in noted] == [8, 1.5, "Horovod", None]


def test_what_was_measured_is_recorded(tmp_path):
    outputs = [nbformat.v4.new_output("display_data", {puzzle.MEASURED: 8})]
    cells = [
        nbformat.v4.new_code_cell("setup()", id="setup"),
        nbformat.v4.new_code_cell("p()", id="a", outputs=outputs),
    ]
    cells.append(nbformat.v4.new_code_cell("guess = None", id="puzzle-answer"))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "executed.ipynb")
    recorded.record(tmp_path / "executed.ipynb", tmp_path)
    kept = json.loads((tmp_path / recorded.NAME).read_text())
    assert kept == {"p()": [{"output_type": "display_data", "data": {puzzle.MEASURED: 8}}]}


@pytest.mark.slow
@every_lesson
def test_a_lesson_shows_what_was_recorded_where_no_hosts_can_be_made(folder, tmp_path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "env"):  # and not nsenter
        (programs / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{programs}")
    lesson = nbformat.read(folder / f"{folder.name}.ipynb", as_version=4)
    lesson.cells = [cell for cell in lesson.cells if cell.id not in ("check-run", "model-answer")]
    nbclient.NotebookClient(lesson, timeout=120, resources={"metadata": {"path": folder}}).execute()
    (setup,) = (cell for cell in lesson.cells if cell.id == "setup")
    said = "".join(output.get("text", "") for output in setup.outputs)
    assert "No hosts can be made here: nsenter is missing" in said
    for cell in code(lesson):
        assert cell.outputs[0].text.startswith(recorded.MARK), cell.source
    assert any("image/png" in output.get("data", {}) for cell in code(lesson) for output in cell.outputs)
