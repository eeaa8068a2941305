"""The head of a report: the file, when it was saved, which TODO comments are left; and where it is shown."""

import io
import os
import time

import pytest
from click.testing import CliRunner
from rich.console import Console

from course.steps import get
from grader import __main__ as command
from grader import notebook
from grader.report import head, html, text
from grader.terms.report import Outcome, Report

TODOS = "# TODO: Step 1: import\nx = 1  # todo step 2\n# TODO: Step 3: wrap\n# TODO: tidy up\n"
OUTCOME = Outcome("A check", 2, "passed", 10, 10, "Correct.", "", None)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "fashion_mnist.py"
    path.write_text(TODOS)
    return path


def saved_before(path, seconds):
    os.utime(path, (time.time() - seconds,) * 2)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (1.5, "1 second ago"),
        (50, "50 seconds ago"),
        (250, "4 minutes ago"),
        (3700, "1 hour ago"),
        (200_000, "2 days ago"),
        (-50, "just now"),  # another clock's file
    ],
)
def test_the_time_since_the_file_was_saved_is_said(script, seconds, words):
    saved_before(script, seconds)
    assert f"fashion_mnist.py, saved {words}." in str(head.read(script, 2))


def test_the_todo_comments_of_this_step_and_earlier_ones_are_counted(script):
    assert "2 TODO comments up to step 2 are left (lines 1, 2)." in str(head.read(script, 2))
    assert "1 TODO comment up to step 1 is left (line 1)." in str(head.read(script, 1))
    assert "3 TODO comments up to capstone 1 are left" in str(head.read(script, 101))
    script.write_text("x = 1\n")
    assert "TODO" not in str(head.read(script, 6))


def test_a_file_that_was_saved_a_while_ago_comes_with_a_reminder(script):
    saved_before(script, 119)
    assert "Only what is saved is checked" not in str(head.read(script, 2))
    saved_before(script, 125)
    assert "Only what is saved is checked" in str(head.read(script, 2))


def test_a_file_that_cannot_be_read_has_no_head(tmp_path):
    assert head.read(tmp_path / "nowhere.py", 1) is None
    assert html.of_head(None) == ""


def test_a_notebook_shows_the_head_before_the_checks(script, monkeypatch):
    monkeypatch.setattr(notebook, "pool", lambda: None)
    passed = Report(2, str(script), "passed", checks=[OUTCOME])
    monkeypatch.setattr(notebook, "judge", lambda path, step, pool, begins: passed)
    kept = []
    monkeypatch.setattr(notebook.progress, "keep", lambda *check: kept.append(check[:4]))
    report = notebook.check(2, str(script))
    assert kept == [(2, "passed", report.score, report.max_score)]
    notebook.check(2, str(get(2).solution))
    assert len(kept) == 1, "a lesson that checks the solution is no learner's progress"
    notebook.check(2, str(script.rename(script.with_name("a.py"))))
    assert len(kept) == 1, "a script of a puzzle is not the learner's file"
    shown = report._repr_html_()
    assert shown.index("saved just now") < shown.index("A check")
    assert "TODO" not in report.to_json() and "saved" not in report.to_json()


def test_a_head_shows_no_html_of_the_learner():
    assert "<b>" not in html.of_head(head.Head("<b>.py", 1.0, 1, ()))


def test_a_terminal_shows_the_head_before_the_checks_and_json_has_none(script, monkeypatch):
    monkeypatch.setattr(
        command, "_judge", lambda number, file, console: Report(number, file, "passed", checks=[OUTCOME])
    )
    shown = CliRunner().invoke(command.main, ["check", "--step", "2", str(script)]).output
    assert shown.index("TODO comments") < shown.index("A check")
    assert "TODO" not in CliRunner().invoke(command.main, ["check", "--step", "2", "--json", str(script)]).output


def test_a_report_that_is_read_back_for_feedback_has_no_head(script):
    published = Report(2, str(script), "passed", checks=[OUTCOME]).published()
    again = Report.from_published(published)
    console = Console(file=io.StringIO(), width=200)
    text.show(again, console)
    assert "saved" not in html.page(again, "") and "saved" not in console.file.getvalue()
