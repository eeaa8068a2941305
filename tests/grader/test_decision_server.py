"""Decisions on data that a submission shaped: whatever they cost, they cost it alone, and it gets a line for people."""

import json
import os
import signal

import msgspec
import pytest

from course import steps
from grader import checks, decision_server
from grader.deciding import Case, Decision, decide, failed
from grader.facts import Answer, Ran, Result

CASE = Case(3, steps.get(3).solution.read_text(), 60)


def decided(monkeypatch, decide, case=CASE, seconds=1) -> bytes:
    """Return what a fork writes that decides in this way, with so many seconds of processor time."""
    monkeypatch.setattr(decision_server, "decide", decide)
    monkeypatch.setattr(decision_server, "SECONDS", seconds)
    given, decision = os.pipe(), os.pipe()
    decision_server._fork(b'{"sandbox": null}', [given[0], decision[1]])
    os.close(given[0])
    os.close(decision[1])
    with os.fdopen(given[1], "wb") as file:
        file.write(msgspec.msgpack.encode(case))
    with os.fdopen(decision[0], "rb") as file:
        return file.read()


def test_a_decision_comes_back_as_it_was_made(monkeypatch):
    made = failed(3, "It is empty.")
    assert msgspec.json.decode(decided(monkeypatch, lambda case: made), type=Decision) == made


def test_a_decision_that_takes_too_long_is_ended(monkeypatch):
    def endless(case):
        while True:
            pass

    assert json.loads(decided(monkeypatch, endless)) == {"ended": -24}  # SIGXCPU


def test_data_that_take_all_memory_are_the_submission_s_failure(monkeypatch):
    decision = msgspec.json.decode(decided(monkeypatch, lambda case: bytearray(2**40)), type=Decision)
    assert decision.status == "failed" and "reported more than can be judged" in decision.checks[0].message


def test_a_decision_that_breaks_is_none(monkeypatch):
    def broken(case):
        raise ValueError("our fault")

    assert json.loads(decided(monkeypatch, broken)) == {"ended": 1}


@pytest.mark.parametrize("answer", [b"", b"\xff", b'{"topologies": {}'])
def test_processes_that_left_no_answer_are_no_verdict_unless_the_script_looks_for_it(answer):
    case = Case(3, CASE.text, 60, Ran(answer), Ran(b""))
    assert decide(case).status == "not_graded"
    case.text = case.text.replace("hvd.init()", "hvd.init()\nimport ctypes\n")
    assert decide(case).status == "failed"


def test_a_supervisor_that_broke_is_no_verdict():
    decision = decide(Case(3, CASE.text, 60, Ran(b'{"broken": "no room"}'), Ran(b"")))
    assert decision.status == "not_graded" and "no room" in decision.checks[0].message


def test_a_rank_in_which_the_judge_s_own_code_fails_is_no_verdict():
    clusters = checks.of(3).clusters(3)
    failed = Result(os.EX_SOFTWARE, None, "", "", "", None)
    answer = Answer({cluster.name: [failed] * cluster.size for cluster in clusters}, 0)
    decision = decide(Case(3, CASE.text, 60, Ran(msgspec.json.encode(answer)), Ran(b"")))
    assert decision.status == "not_graded" and "Rank 0" in decision.checks[0].message


@pytest.mark.parametrize(
    ("cluster", "number", "killed"), [("restarted", 0, True), ("killed", 0, True), ("killed", 1, False)]
)
def test_a_worker_that_is_killed_is_no_verdict_but_where_its_death_is_the_lesson(cluster, number, killed):
    clusters = checks.of(14).clusters(14)
    results = {each.name: [Result(0, None, "", "", "", None)] * each.size for each in clusters}
    results[cluster][number] = Result(-signal.SIGKILL, None, "", "", "", None)
    ran = Ran(msgspec.json.encode(Answer(results, 0)))
    decision = decide(Case(14, steps.get(14).solution.read_text(), 60, ran, ran))
    message = decision.checks[0].message
    assert (decision.status == "not_graded") is killed
    assert (f"Worker {number}" in message and "not by the script" in message) is killed
