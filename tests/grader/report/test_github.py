"""Annotations and the summary for GitHub: at the right lines, and no text of a learner becomes a command."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from nbconvert.filters import markdown2html

from grader import __main__ as command
from grader.report import github, markdown
from grader.terms.report import Outcome, Remark, Report
from tests.grader.report.actions_runner import followed

SIGNS = ["::", "##[", "]", "%", "%0A", "%25", ":", ",", "=", ";", "\n", "\r", "error ", "set-env ", "a", "é"]
texts = st.lists(st.sampled_from(SIGNS), max_size=12).map("".join)
EVIL = "::error::forged\n::add-mask::e\nx ##[add-mask]e\n\r::set-env name=PATH::/tmp\n::stop-commands::a\n::endgroup::"
FAILED = Outcome("A check, of: two", 3, "failed", 0, 10, "why 100%\nand where", "try this", 7)


def report(*outcomes, file="fashion_mnist.py", status="failed", remarks=()):
    return Report(3, str(file), status, 1.0, list(outcomes), remarks=list(remarks))


def test_each_failed_check_is_an_error_at_its_line():
    passed, skipped = (Outcome("B", 3, status, 0, 0, "", "", 9) for status in ("passed", "skipped"))
    (found,) = followed("\n".join(github.commands(report(passed, FAILED, skipped), Path.cwd())))
    assert (found.name, found.message) == ("error", "why 100%\nand where\nHint: try this")
    assert found.properties == {"file": "fashion_mnist.py", "line": "7", "title": "A check, of: two"}


@pytest.mark.parametrize(("status", "level"), [("needs_review", "warning"), ("not_graded", "error")])
def test_a_check_without_a_verdict_has_no_line_and_is_an_error_where_nothing_was_judged(status, level):
    undecided = report(Outcome("A", 3, "error", 0, 0, "why", "", None), status=status)
    (found,) = followed(github.commands(undecided, Path.cwd())[0])
    assert found.name == level and "line" not in found.properties


def test_a_remark_is_a_notice():
    (found,) = followed(github.commands(report(remarks=[Remark(7, "imports ctypes: calls C code")]), Path.cwd())[0])
    assert (found.name, found.message, found.properties["line"]) == ("notice", "imports ctypes: calls C code", "7")


def test_the_path_is_relative_to_the_workspace_also_through_a_link(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to("work")
    for workspace, file, shown in (
        (tmp_path, tmp_path / "work" / "a,b.py", "work/a,b.py"),
        (tmp_path / "link", tmp_path / "link" / "a.py", "a.py"),
        (tmp_path / "work", tmp_path / "a.py", f"{tmp_path}/a.py"),
    ):
        (found,) = followed(github.commands(report(FAILED, file=file), workspace)[0])
        assert found.properties["file"] == shown


@given(texts, texts, texts, texts)
def test_any_text_arrives_unchanged_and_as_nothing_else(name, message, hint, file):
    outcome = Outcome(f"A{name}", 3, "failed", 0, 10, message, hint, 7)
    lines = github.commands(report(outcome, file=f"/x{file}", remarks=[Remark(1, message)]), Path("/work"))
    error, notice = followed("\n".join(lines))
    assert error.properties == {"file": f"/x{file}", "line": "7", "title": f"A{name}"}
    assert error.message == outcome.message + (f"\nHint: {hint}" if hint else "")
    assert (notice.name, notice.message) == ("notice", message)


@pytest.fixture
def judged(monkeypatch):
    """Return a function that makes every script get a report."""

    def give(found):
        monkeypatch.setattr(command, "_judge", lambda number, file, console: found)

    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return give


def run(*options):
    return CliRunner().invoke(command.main, ["check", "--step", "3", *options])


def test_what_a_script_prints_is_no_command_in_the_report_for_people(judged):
    judged(report(Outcome("A", 3, "failed", 0, 10, EVIL, "", 7)))
    assert len(followed(run("fashion_mnist.py").output)) > 1, "the report alone has commands"
    done = run("--github", "fashion_mnist.py")
    (found,) = followed(done.output)
    assert found.name == "error" and found.message.startswith("::error::forged\n") and done.exit_code == 1


def test_a_fault_of_the_grader_leaves_no_commands_stopped(monkeypatch):
    def broken(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr(command, "_judge", broken)
    done = run("--github", "fashion_mnist.py")
    (found,) = followed(done.output)
    assert found.name == "error" and "No space left" in found.message and done.exit_code == 2


def test_annotations_and_one_json_object_exclude_each_other(judged):
    judged(report(FAILED))
    done = run("--github", "--json", "fashion_mnist.py")
    assert done.exit_code == 2 and done.stdout == "" and "--json" in done.stderr


def test_the_summary_is_added_to_what_other_steps_wrote(judged, monkeypatch, tmp_path):
    judged(report(FAILED))
    page = tmp_path / "summary.md"
    page.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    run("fashion_mnist.py")
    assert page.read_text() == "# Before\n", "no summary unless it is asked for"
    run("--github", "fashion_mnist.py")
    before, after = page.read_text().split("\n", 1)
    assert before == "# Before" and "0 of 10" in after and "(line 7)" in after and "try this" in after


def test_a_summary_that_cannot_be_written_is_no_traceback(judged, monkeypatch, tmp_path):
    judged(report(FAILED))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nowhere" / "summary.md"))
    done = run("--github", "fashion_mnist.py")
    assert done.exit_code == 2 and str(tmp_path) in done.stderr and "Traceback" not in done.output


@pytest.mark.parametrize("message", ["<script>", "~~~\n<b>", "| a |\n# b", "![](http://127.0.0.1/)"])
def test_the_summary_shows_texts_unchanged(message):
    page = markdown.page(report(Outcome("A | <b>", 3, "failed", 0, 10, message, "", None)))
    shown = markdown2html(page)
    assert not any(tag in shown for tag in ("<script", "<b>", "<img", "<h1")) and shown.count("<tr") == 2
