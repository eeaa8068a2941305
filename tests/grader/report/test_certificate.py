"""The certificate of a capstone: written once its check has passed, and nothing in it is a learner's HTML."""

import pytest
from IPython.display import FileLink

from course.steps import get
from grader import checks, notebook
from grader.notebook import Checked
from grader.report import certificate
from grader.terms.report import Outcome, Published, Report

CAPSTONES = sorted({check.step.number for check in checks.CHECKS if check.step.is_capstone})


def checked(number, file="fashion_mlp.py", status="passed", kind=Checked):
    part = checks.of(number)
    return kind(number, file, status, 9.5, [check.outcome("passed", "Correct.") for check in part.checks])


@pytest.mark.parametrize("number", CAPSTONES)
def test_a_passed_check_gets_a_page_with_a_line_for_each_check(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = get(number).name
    notebook._keep(checked(number), tmp_path)
    link = notebook.certificate(name, folder=tmp_path)
    assert isinstance(link, FileLink) and "certificate.html" in link._repr_html_()
    page = (tmp_path / "certificate.html").read_text()
    for check in checks.of(number).checks:
        assert f"<li>{check.description.replace(chr(39), '&#x27;')}</li>" in page
    assert "version" in page and "not a signed document" in page and "Name" not in page


def test_a_page_says_what_it_is_about_and_escapes_what_a_learner_chose():
    outcomes = [Outcome("It <i>runs</i>", 101, "passed", 10, 10, "Correct.", "", None)]
    report = Published(1, 101, "<script>a.py", "passed", 10, 10, 9.5, outcomes)
    page = certificate.page(certificate.Passed(report, "24 November 2026, 10:00", "0.5.0"), "<img src=x>&")
    for shown in (
        "&lt;script&gt;a.py",
        "&lt;img src=x&gt;&amp;",
        "It &lt;i&gt;runs",
        "24 November 2026",
        "version 0.5.0",
    ):
        assert shown in page
    assert "<script" not in page and "<img" not in page and "10 of 10" in page


@pytest.mark.parametrize("kept", [None, b"", b"{", b'{"report": 1}'])
def test_without_a_passed_check_there_is_no_page(kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if kept is not None:
        (tmp_path / "capstone_1.passed.json").write_bytes(kept)
    assert "no certificate yet" in notebook.certificate("capstone_1", folder=tmp_path).data
    assert not (tmp_path / "certificate.html").exists()


@pytest.mark.parametrize(("status", "keeps"), [("passed", True), ("failed", False)])
def test_a_check_of_one_s_own_file_is_kept_if_it_passes(status, keeps, tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(
        notebook, "judge", lambda script, number, pool, begins: checked(number, str(script), status, Report)
    )
    monkeypatch.setattr(notebook, "pool", lambda: None)
    monkeypatch.setattr(notebook, "_keep", kept.append)
    monkeypatch.setattr(notebook.progress, "keep", lambda *result: None)
    for typed in ("capstone_1", "capstone 1"):
        assert notebook.check(step=typed, script=tmp_path / "fashion_mlp.py").step == 101
    notebook.check(step="capstone_1", script=get(101).solution)  # a lesson that runs without a learner
    assert len(kept) == (2 if keeps else 0)
