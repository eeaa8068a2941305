"""A learner's file is never lost."""

import re

import nbformat

from course import exercise, steps


def test_the_starter_is_put_in_place(tmp_path):
    exercise.start(3, tmp_path)
    assert (tmp_path / "fashion_mnist.py").read_text() == steps.get(3).starter.read_text()


def test_a_learner_s_file_is_not_overwritten(tmp_path):
    (tmp_path / "fashion_mnist.py").write_text("mine")
    exercise.start(3, tmp_path)
    assert (tmp_path / "fashion_mnist.py").read_text() == "mine"


def test_starting_afresh_keeps_every_earlier_file(tmp_path, capsys):
    for text in ("first", "second"):
        (tmp_path / "fashion_mnist.py").write_text(text)
        exercise.start(3, tmp_path, fresh=True)
    assert (tmp_path / "fashion_mnist.backup_1.py").read_text() == "first"
    assert (tmp_path / "fashion_mnist.backup_2.py").read_text() == "second"
    assert (tmp_path / "fashion_mnist.py").read_text() == steps.get(3).starter.read_text()
    assert "kept as fashion_mnist.backup_2.py" in capsys.readouterr().out


def test_the_solution_is_folded_away_and_shows_the_step_s_lines_only():
    shown = exercise.solution(3).data
    assert shown.startswith("<details>") and "<details open" not in shown
    assert "hvd.DistributedOptimizer(opt)" in shown and "BroadcastGlobalVariables" not in shown


def test_the_same_file_has_no_difference():
    assert "No difference." in exercise.compare(7, steps.get(7).solution).data


def test_two_files_are_shown_side_by_side(tmp_path):
    script = tmp_path / "fashion_mnist.py"
    script.write_text(steps.get(7).solution.read_text().replace("hvd.init()", "hvd.init() # <mine>"))
    shown = exercise.compare(7, script).data
    assert (
        "your file" in shown and "the solution" in shown and "&lt;mine&gt;" in shown and shown.startswith("<details>")
    )


def test_the_model_answer_is_shown_once_an_answer_is_saved(tmp_path, capsys):
    lesson = nbformat.read(steps.get(3).notebook, as_version=4)
    (cell,) = (cell for cell in lesson.cells if cell.id == "written-answer")
    for text in ("*Your answer*", " "):
        cell.source = text
        nbformat.write(lesson, tmp_path / "step_03.ipynb")
        assert exercise.model_answer(3, tmp_path) is None
        assert "save the lesson" in capsys.readouterr().out
    cell.source = "Each rank trains a model of its own."
    nbformat.write(lesson, tmp_path / "step_03.ipynb")
    assert exercise.model_answer(3, tmp_path).data == steps.get(3).answer.read_text()
    (tmp_path / "step_03.ipynb").write_text("{")
    assert exercise.model_answer(3, tmp_path) is None


def test_changed_lines_have_colours_of_the_theme_and_legible_backgrounds():
    """In JupyterLab's dark theme, text is white: a fixed dark colour or a light background would hide it."""
    diff = exercise.solution(3).data
    assert 'style="color:var(--jp-success-color1, #' in diff and 'style="color:var(--jp-error-color1, #' in diff
    assert not re.search(r"background: (?!rgba)|color: ?#", exercise.COMPARED + diff)


def test_a_lesson_begins_with_its_links_and_breaks_lines_between_words(monkeypatch, capsys, tmp_path):
    shown = []
    monkeypatch.setattr(exercise, "display", lambda *pages: shown.extend(page.data for page in pages))
    exercise.start(3, tmp_path)
    assert shown == [] and capsys.readouterr().out == "", "scripts/lab puts starters in place, and shows nothing"
    monkeypatch.setattr(exercise, "get_ipython", object)
    monkeypatch.setattr(exercise.missing_names, "explain", lambda shell: None)
    monkeypatch.delenv("COURSE_HEADLESS", raising=False)
    exercise.start(3, tmp_path)
    style, links = shown
    assert "word-break: normal" in style and "Map of the course" in links
