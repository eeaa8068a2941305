"""A learner's file is never lost."""

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
