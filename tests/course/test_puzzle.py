"""The puzzles of the lessons: predictions, three scripts of which one is wrong, scripts to repair."""

import pytest

from course import progress, puzzle, steps

SCRIPTS = [(step, name) for step, scripts in puzzle.SCRIPTS.items() for name in scripts]


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    """Keep predictions in a folder of the test's own, and return what shows them."""
    monkeypatch.setattr(progress, "FILE", tmp_path / "progress.json")
    monkeypatch.delenv("COURSE_HEADLESS", raising=False)
    return lambda: progress.Overview(progress.FILE).predictions


def said(capsys, guess, measured, typical=None, factor=1.0):
    puzzle.predicted(4, "batches", guess, measured, "This is why.", typical, factor)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(("guess", "measured"), [(8, 8), (8.0, 8), (2, 1.97), ("Horovod", "Horovod")])
def test_a_right_prediction_gets_the_reason(guess, measured, capsys):
    first, why = said(capsys, guess, measured, factor=1.1)
    assert first == f"Your prediction is right. Measured: {measured}." and why == "This is why."


def test_a_wrong_prediction_gets_what_it_would_mean_and_the_reason(capsys):
    expected = ["You predicted 4. Measured: 8. That would be half of it.", "This is why."]
    assert said(capsys, 4, 8, {4: "That would be half of it."}) == expected
    assert said(capsys, 5, 8, {4: "That would be half of it."}) == ["You predicted 5. Measured: 8.", "This is why."]


def test_the_first_answer_counts(capsys, kept):
    for guess in (None, "eight"):  # no answer yet
        said(capsys, guess, 8)
    assert kept() == {}
    for guess in (4, 8):
        said(capsys, guess, 8)
    assert kept() == {"4 batches": False}
    puzzle.predicted(5, "passes", 2, 2, "This is why.")
    puzzle.predicted(5, "missed", 3, 2, "This is why.")
    rows = progress.Overview(progress.FILE)._repr_markdown_().splitlines()
    (fourth,) = (row for row in rows if row.startswith("| 4 |"))
    (fifth,) = (row for row in rows if row.startswith("| 5 |"))
    assert "| 0 of 1 predictions right |" in fourth and "| 1 of 2 predictions right |" in fifth


@pytest.mark.parametrize(("guess", "right"), [(0.5, False), (0.7, True), (1, True), (1.4, True), (1.6, False)])
def test_a_measurement_is_predicted_within_a_factor(guess, right, capsys):
    assert said(capsys, guess, 1.0, factor=1.5)[0].startswith("Your prediction is right.") == right


def test_a_right_prediction_is_not_called_a_typical_mistake(capsys):
    assert "half" not in "".join(said(capsys, 8, 8, {8: "That would be half of it."}))


def test_without_a_prediction_nothing_is_given_away(capsys):
    (line,) = said(capsys, None, 8)
    assert line.startswith("No prediction yet") and "8" not in line


@pytest.mark.parametrize(
    ("guess", "measured", "reason"),
    [
        ("8", 8, "'8' is not a number"),
        (True, 1, "True is not a number"),
        ([8], 8, "[8] is not a number"),
        (3, "Horovod", "3 is not a name"),
    ],
)
def test_a_prediction_of_another_type_is_named(guess, measured, reason, capsys):
    (line,) = said(capsys, guess, measured)
    assert line.startswith(reason)


@pytest.mark.parametrize(("step", "name"), SCRIPTS)
def test_a_script_differs_from_the_solution_and_from_the_starter(step, name):
    text = puzzle.text(step, name)
    compile(text, name, "exec")
    assert text not in (steps.get(step).solution.read_text(), steps.get(step).starter.read_text())
    assert f"# Step {step}:" not in text


def test_an_edit_that_does_not_hit_once_is_refused(monkeypatch):
    monkeypatch.setitem(puzzle.SCRIPTS, 3, {"a": (("no such line", ""),), "b": (("hvd", ""),)})
    for name in "ab":
        with pytest.raises(ValueError, match="not once"):
            puzzle.text(3, name)


def test_three_scripts_are_written_and_shown_alike(tmp_path):
    shown = puzzle.write(3, steps.get(3).solution, tmp_path).data
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py", "c.py"]
    assert (tmp_path / "b.py").read_text() == puzzle.text(3, "b")
    assert shown.count("<details open>") == 3 and "average = hvd.DistributedOptimizer(opt)" in shown


def test_no_script_is_written_before_the_step_is_done(tmp_path, capsys):
    assert puzzle.write(3, steps.get(3).starter, tmp_path) is None
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out.startswith("Finish step 3 first:")


def test_a_comment_that_is_left_keeps_no_puzzle_closed_once_a_check_has_passed(tmp_path):
    progress.keep(3, "passed", 30, 30, steps.get(3).starter, progress.FILE)
    assert puzzle.write(3, steps.get(3).starter, tmp_path)


def test_a_script_that_is_being_repaired_is_not_overwritten(tmp_path):
    (tmp_path / "repair_me.py").write_text("mine")
    shown = puzzle.write(5, steps.get(5).solution, tmp_path)
    assert (tmp_path / "repair_me.py").read_text() == "mine" and "mine" in shown.data


def test_a_script_to_repair_does_not_show_its_repair(tmp_path):
    shown = puzzle.write(5, steps.get(5).solution, tmp_path).data
    assert "hvd.rank() &lt; len(train_iter)" in shown and "len(train_iter) // hvd.size(),<" not in shown


def forbidden(step, script):
    raise AssertionError("nothing is there to be judged")


class Judged:
    """A report of the judge."""

    def __init__(self, status):
        self.status = status

    def _repr_html_(self):
        return "the report"


@pytest.mark.parametrize(("status", "mark"), [("failed", "✓"), ("passed", "✗")])
def test_the_script_that_is_wrong_is_the_right_answer(status, mark):
    asked = []
    shown = puzzle.judged(3, "b", lambda *which: asked.append(which) or Judged(status)).data
    assert asked == [(3, "b.py")] and mark in shown and "the report" in shown


def test_without_a_verdict_the_report_is_shown():
    report = Judged("not_graded")
    assert puzzle.judged(3, "b", lambda *which: report) is report


def test_nothing_is_judged_without_an_answer(capsys):
    assert puzzle.judged(3, None, forbidden) is None
    assert puzzle.judged(3, "d", forbidden) is None
    assert "'d' is none of the scripts" in capsys.readouterr().out


def test_a_script_is_judged_once_it_was_edited(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert puzzle.repaired(5, forbidden) is None
    assert capsys.readouterr().out.startswith("Nothing to check yet: there is no repair_me.py.")
    puzzle.write(5, steps.get(5).solution)
    assert puzzle.repaired(5, forbidden) is None
    assert capsys.readouterr().out.startswith("Nothing to check yet: repair_me.py is unchanged.")
    (tmp_path / "repair_me.py").write_text("mine")
    assert puzzle.repaired(5, lambda step, script: (step, script)) == (5, "repair_me.py")
