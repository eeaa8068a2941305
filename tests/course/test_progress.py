"""The index of the course: its map, and what a learner has done so far."""

import re

import nbformat
import pytest
from click.testing import CliRunner

from course import __main__, launch, progress
from course.steps import NOTEBOOKS, ROOT, STEPS

ROW = re.compile(r"^\| (\d+|Capstone \d) \| (.*) \| (.*) \|$", re.M)


def test_the_index_lists_what_the_readme_lists_with_a_link_to_each_lesson():
    index = nbformat.read(NOTEBOOKS / "index.ipynb", as_version=4)
    shown = ROW.findall("\n".join(cell.source for cell in index.cells if cell.cell_type == "markdown"))
    listed = ROW.findall((ROOT / "README.md").read_text())
    names = {step.label.removeprefix("step ").capitalize(): step.name for step in STEPS}
    links = [(called, f"[{title}]({names[called]}/{names[called]}.ipynb)", what) for called, title, what in listed]
    assert shown == links and {called for called, *_ in shown} == names.keys()
    lessons = [int(called) for called, *_ in shown if called.isdecimal()]
    assert lessons == [step.number for step in STEPS if not step.is_capstone]


def shown(file):
    """Return the map's rows."""
    return progress.Overview(file)._repr_markdown_().splitlines()[2:]


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
