"""The hunt's command line, up to the check."""

import nbformat
import pytest
from click.testing import CliRunner

from course.hosts.cluster import forbidden
from course.hunt import cases, desk, tickets
from grader.hunt.commands import hunt


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Have learners' files in a folder of the test."""
    monkeypatch.setattr(cases, "WORK", tmp_path)
    monkeypatch.setattr(desk, "FILE", tmp_path / "progress.json")
    monkeypatch.setattr("course.steps.ROOT", tmp_path)
    return tmp_path


def run(*words):
    return CliRunner().invoke(hunt, [str(word) for word in words])


def test_a_case_is_started_once_and_begun_again_with_backups(work):
    case = cases.get(1)
    assert run("start", 1).exit_code == 0
    own = case.work / case.script
    assert own.read_text() == case.broken
    own.write_text("mine")
    run("start", 1)
    assert own.read_text() == "mine"
    assert run("reset", 1).exit_code == 0
    assert own.read_text() == case.broken
    assert [path.read_text() for path in case.work.glob("*.backup_*")] == ["mine"]


def test_each_hint_is_taken_once_and_the_last_one_stays(work):
    told = [run("hint", 1).output for _ in range(4)]
    assert [text.partition(": ")[2].strip() for text in told] == [*cases.get(1).hints, cases.get(1).hints[-1]]
    assert desk.progress(cases.get(1)).hints == desk.HINTS


def test_the_list_shows_every_case_and_what_was_done(work):
    desk.keep(cases.get(1), desk.Progress(hints=1, score=9, solved=True))
    listed = run("list").output
    assert all(case.title[:20] in listed for case in cases.cases().values())
    assert "✓" in listed


@pytest.mark.parametrize("words", [("start",), ("start", 999), ("check", "one"), ("start", 1, "--seed", 2000)])
def test_a_call_that_cannot_be_meant_is_refused(work, words):
    done = run(*words)
    assert done.exit_code == 2
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_a_seed_that_no_case_was_made_of_says_how_to_make_one(work):
    assert "--seed 4711" in run("check", 4711).output


def test_a_diagnosis_that_is_no_toml_is_told_with_its_file(work):
    case = cases.get(1)
    desk.start(case)
    (case.work / "diagnosis.toml").write_text("who: all")
    done = run("check", 1)
    assert done.exit_code == 1
    assert done.output.startswith("diagnosis.toml: ") or "not valid TOML" in str(done.exception or done.output)


def test_each_case_has_a_ticket_in_jupyterlab_and_a_row_that_leads_to_it(work):
    table = tickets.overview()._repr_markdown_()
    for case in cases.cases().values():
        nbformat.validate(nbformat.read(case.work / tickets.NAME, as_version=4))
        assert f"]({case.name}/{tickets.NAME})" in table


@pytest.mark.slow
@pytest.mark.skipif(forbidden() is not None, reason="no hosts can be made here")
def test_a_job_runs_with_the_learner_s_file(work):
    (case,) = (case for case in cases.cases().values() if case.name == "40_four_times_rank_0")
    assert run("run", case.number).output.count('"ranks": 1') == 4
    (case.work / case.script).write_text(case.works)
    assert '"ranks": 4' in run("run", case.number).output
