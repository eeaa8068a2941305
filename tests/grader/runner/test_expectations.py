"""Expectations: a solution is run once, and again as soon as anything changes that its run depends on."""

import shutil

import msgspec
import pytest

from course import steps
from course.steps import SOLUTIONS
from grader import checks
from grader.runner import expectations
from grader.runner.pool import NoVerdictError
from grader.terms.facts import HorovodFacts, TaskFacts
from grader.terms.job import Answer, Result


class CountingPool:
    """Stands for a pool: every rank exits with this status and reports nothing but that it is there."""

    sandboxed = True

    def __init__(self, kind, status=0, late=()):
        """Answer with facts of this kind; ranks of the clusters in late were ended for time."""
        self.facts, self.status, self.late, self.runs = msgspec.msgpack.encode(kind()), status, late, 0

    def run(self, script, name, clusters, seconds):
        """Count, and answer."""
        self.runs += 1
        return Answer({each.name: [self.result(each.name)] * each.size for each in clusters}, traffic=7)

    def result(self, name):
        """Return what one rank leaves."""
        return Result(self.status, "time" if name in self.late else None, "", "", "", self.facts)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def of(number, pool, clusters=None):
    part = checks.of(number)
    return expectations.of(steps.get(number), clusters or part.clusters(number), pool, part.facts)


def test_what_was_found_is_read_back():
    pool = CountingPool(HorovodFacts)
    assert of(3, pool) == of(3, pool) and of(3, pool).traffic == 7
    assert pool.runs == 1


def test_another_step_other_clusters_and_other_code_are_run_anew(monkeypatch):
    pool = CountingPool(HorovodFacts)
    of(3, pool)
    of(4, pool)
    of(4, pool, checks.of(4).clusters(4)[:1])
    assert pool.runs == 3
    monkeypatch.setattr(expectations, "CODE", "another version")
    of(3, pool)
    assert pool.runs == 4


def test_the_code_that_counts_is_the_judge_s_and_the_course_s(tmp_path, monkeypatch):
    for room in ("course", "grader"):
        shutil.copytree(expectations.ROOT / room, tmp_path / room)
    shutil.copy(expectations.ROOT / "uv.lock", tmp_path)
    monkeypatch.setattr(expectations, "ROOT", tmp_path)
    before = expectations._code()
    for changed in ("course/store.py", "grader/sandboxed/rank.py", "uv.lock"):
        (tmp_path / changed).write_text(f"{(tmp_path / changed).read_text()}# changed\n")
        assert expectations._code() != before, changed
        before = expectations._code()


def test_a_program_that_does_another_task_counts(tmp_path, monkeypatch):
    shutil.copytree(SOLUTIONS / "parameter_server", tmp_path / "parameter_server")
    monkeypatch.setattr(expectations, "SOLUTIONS", tmp_path)
    pool = CountingPool(TaskFacts)
    of(15, pool)
    of(15, pool)
    assert pool.runs == 1
    server = tmp_path / "parameter_server" / "worker_and_ps.py"
    server.write_text(f"{server.read_text()}# changed\n")
    of(15, pool)
    assert pool.runs == 2


def test_a_solution_that_fails_is_no_expectation():
    failing = CountingPool(HorovodFacts, status=1)
    for _ in range(2):
        with pytest.raises(NoVerdictError, match="the solution itself did not run"):
            of(3, failing)
    assert failing.runs == 2


def test_a_solution_that_runs_out_of_time_where_one_check_alone_looks_is_no_expectation():
    with pytest.raises(NoVerdictError, match="the solution itself did not run"):
        of(14, CountingPool(TaskFacts, late=("restarted",)))
