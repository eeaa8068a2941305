"""The index of the course: its map, and what a learner has done so far."""

import re
import shutil
import subprocess

import nbformat
import pytest
from click.testing import CliRunner

from course import __main__, launch, progress, steps
from course.steps import ROOT, STEPS

README = (ROOT / "README.md").read_text()


def test_the_readme_lists_the_steps_in_their_order_and_says_how_long_the_parts_take():
    listed = re.findall(r"^\| (\w+|(?:Capstone|Drill) \d) \| ([^|]*) \| [^|]* \|$", README, re.M)
    assert listed == [(step.short_label.capitalize(), step.title) for step in steps.in_order()]
    times = [progress.hours(of_part).removesuffix(" hours") for _, of_part in steps.by_part()]
    total = progress.hours(STEPS)
    assert f"some {total}: {', '.join(times[:-1])} and {times[-1]} for the" in " ".join(README.split())
    assert f"Plan some {total}" in (ROOT / "website" / "front.md").read_text()


def test_the_map_is_one_table_of_all_steps_in_their_order_with_their_parts_and_times(tmp_path):
    table = progress.Overview(tmp_path / "none")._repr_markdown_().replace("\N{NO-BREAK SPACE}", " ")
    rows = [row.strip("|").split("|") for row in table.splitlines()]
    assert {len(row) for row in rows} == {5}
    labels = [row[0].strip() for row in rows[2:] if row[0].strip()]
    assert labels == [step.short_label.capitalize() for step in steps.in_order()]
    parts = [row for row in rows if "**Part" in row[1]]
    assert len(parts) == len(steps.PARTS) and all("hours" in row[3] for row in parts)
    for step, row in zip(steps.in_order(), (row for row in rows[2:] if row[0].strip()), strict=True):
        assert f"({step.name}/{step.name}.ipynb)" in row[1] and step.problem in row[2] and row[3].strip(), step.name


@pytest.mark.parametrize(("minutes", "said"), [(35, "35 min"), (60, "1 h"), (80, "1 h 20 min"), (120, "2 h")])
def test_a_time_is_said_in_hours_and_minutes(minutes, said):
    assert progress._time(minutes) == said


def test_a_problem_does_not_give_its_solution_away(step):
    assert "`" not in step.problem and "hvd" not in step.problem


def test_the_page_that_the_lab_opens_has_the_map_before_a_cell_is_run(tmp_path, monkeypatch):
    noted = []
    monkeypatch.setattr(progress.saving, "note", lambda path: noted.append(path) or subprocess.Popen(["true"]))
    index = tmp_path / "index.ipynb"
    shutil.copyfile(progress.INDEX, index)
    progress.fill(index)
    page = nbformat.read(index, as_version=4)
    nbformat.validate(page)
    (cell,) = (cell for cell in page.cells if cell.cell_type == "code")
    assert cell.source == "from course import progress\n\nprogress.show()" and cell.metadata.jupyter.source_hidden
    assert "(step_20/step_20.ipynb)" in cell.outputs[0].data["text/markdown"]
    cell.outputs = []
    assert page == nbformat.read(progress.INDEX, as_version=4), "nothing else is changed"
    assert [path.name for path in tmp_path.iterdir()] == ["index.ipynb"] and noted == [index]


@pytest.mark.parametrize("text", [None, "", "{}", '{"cells": [{"id": "other"}]}'])
def test_a_page_without_the_map_s_cell_stays_as_it_is(text, tmp_path):
    index = tmp_path / "index.ipynb"
    if text is not None:
        index.write_text(text)
    progress.fill(index)
    assert (index.read_text() if index.exists() else None) == text


def shown(file):
    """Return the map's rows of steps."""
    return [row for row in progress.Overview(file)._repr_markdown_().splitlines()[2:] if not row.startswith("| |")]


def test_the_best_check_of_each_step_is_shown(tmp_path):
    file, script = tmp_path / "progress.json", tmp_path / "step_03" / "fashion_mnist.py"
    script.parent.mkdir()
    script.write_text("right")
    progress.keep(3, "failed", 20, 30, script, file)
    assert "not yet, 20 of 30 points" in shown(file)[3]
    progress.keep(4, "passed", 40, 40, script, file)
    progress.keep(3, "passed", 30, 30, script, file)
    rows = shown(file)
    assert len(rows) == len(STEPS) and "no exercise" in rows[0]
    assert "✓ passed, 30 of 30 points" in rows[3] and "✓ passed, 40 of 40" in rows[4] and rows[5].endswith("|  |")
    progress.keep(3, "not_graded", 0, 30, script, file)
    progress.keep(3, "failed", 0, 30, script, file)
    assert shown(file) == rows
    script.write_text("changed")
    assert "✓ passed, 30 of 30 points" in shown(file)[3] and "has changed since" in shown(file)[3]
    progress.keep(3, "passed", 30, 30, script, file)
    assert shown(file)[3] == rows[3]
    assert {path.name for path in tmp_path.iterdir()} == {"progress.json", "step_03"}


def test_what_an_earlier_version_kept_is_read(tmp_path):
    (tmp_path / "progress.json").write_text('{"1": ["passed", 10.0, 10.0, "28 November 2026, 10:00"]}')
    assert "✓ passed, 10 of 10 points" in shown(tmp_path / "progress.json")[1]


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00", '{"1": 5}'])
def test_a_damaged_file_is_as_good_as_none(text, tmp_path):
    file = tmp_path / "progress.json"
    file.write_text(text)
    assert "points" not in progress.Overview(file)._repr_markdown_()
    progress.keep(1, "failed", 3, 10, file, file)
    assert "not yet, 3 of 10 points" in progress.Overview(file)._repr_markdown_()


@pytest.mark.parametrize(
    ("user", "marks", "given", "passed"),
    [
        (1000, [], [], []),
        (0, ["/.dockerenv"], [], ["--allow-root"]),
        (0, [], ["--allow-root"], ["--allow-root"]),
        (0, [], [], None),
    ],
)
def test_root_opens_the_lessons_in_a_container_or_on_purpose(user, marks, given, passed, monkeypatch):
    started = []
    monkeypatch.setattr("os.getuid", lambda: user)
    monkeypatch.setattr("os.chdir", lambda folder: None)
    monkeypatch.setattr("os.execvp", lambda program, command: started.append(command))
    monkeypatch.setattr("course.__main__.Path.exists", lambda path: str(path) in marks)
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "")  # which the command changes
    monkeypatch.setattr("course.exercise.start", lambda *where: None)
    monkeypatch.setattr("course.progress.fill", lambda: None)
    said = CliRunner().invoke(__main__.main, ["lab", *given])
    if passed is None:
        assert said.exit_code == 1 and "You are root" in said.output and started == []
    else:
        assert [part for part in started[0] if part == "--allow-root"] == passed


@pytest.mark.slow
def test_an_interrupted_run_shows_one_line():
    def say(line):
        if line.startswith("[0]"):
            raise KeyboardInterrupt

    with pytest.raises(launch.InterruptedRun) as stopped:
        launch.mpirun(["echo", "here"], np=1, say=say)
    assert stopped.value._render_traceback_() == ["Interrupted: all ranks have been ended."]
