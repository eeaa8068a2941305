"""Step 21's watcher: what it reads of what ranks report, and what a rank notes of a sum."""

import mpi4py
import msgspec
import numpy as np
import pytest

from grader.judge import judge
from grader.runner.pool import Pool
from grader.terms.watched_facts import Attempt, Case
from grader.watchers import allreduce_watcher

mpi4py.rc.initialize = False  # this process is no rank

from grader.watchers import allreduce_rank  # noqa: E402

CASE = Case(3, 100, "float32", "new")
SUM = allreduce_rank.numbers(100) * 111


def report(folder, rank, *attempts):
    (folder / str(rank)).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in attempts))


def test_each_attempt_is_as_it_was_last_reported(tmp_path):
    begun, ended = Attempt(CASE, 0), Attempt(CASE, 0, True, 4, 100)
    report(tmp_path, 0, begun, ended)
    report(tmp_path, 1, Attempt(CASE, 7))
    assert allreduce_watcher.attempts(tmp_path) == [ended, Attempt(CASE, 1)]


@pytest.mark.parametrize("text", ["", "no JSON", '{"case": 1}', "[" * 100_000, "\x00\xff"])
def test_whatever_a_rank_writes_nothing_breaks(tmp_path, text):
    (tmp_path / "0").write_text(text)
    (tmp_path / "1").mkdir()
    (tmp_path / "2").symlink_to("/dev/zero")
    assert allreduce_watcher.attempts(tmp_path) == []


def changed(first, last, value):
    total = SUM.copy()
    total[first:last] = allreduce_rank.numbers(100)[first:last] * value
    return total.astype("float32")


@pytest.mark.parametrize(
    ("result", "noted"),
    [
        (SUM.astype("float32"), {}),
        (changed(4, 7, 10), {"first": 4, "last": 6, "wrong": 3, "times": [0, 1, 0]}),
        (changed(90, 100, 121), {"first": 90, "last": 99, "wrong": 10, "times": [1, 2, 1]}),
        (changed(0, 100, 0), {"first": 0, "last": 99, "wrong": 100, "times": [0, 0, 0]}),
        (changed(5, 6, np.nan), {"first": 5, "last": 5, "wrong": 1}),
        (changed(5, 6, 0.5), {"first": 5, "last": 5, "wrong": 1}),
        (None, {"returned": "NoneType"}),
        (SUM, {"returned": "float64 with the shape (100,)"}),
        (SUM[:-1].astype("float32"), {"returned": "float32 with the shape (99,)"}),
    ],
)
def test_what_is_wrong_with_a_sum_is_noted(result, noted):
    attempt = Attempt(CASE, 1)
    allreduce_rank.compare(attempt, result)
    assert attempt == Attempt(CASE, 1, **noted)


def test_cases_are_of_all_kinds():
    for ranks in range(1, allreduce_rank.RANKS + 1):
        cases = allreduce_rank.cases(ranks)
        assert {case.into for case in cases} == {"new", "array", "other"}
        assert {case.kind for case in cases} == {"float32", "float64"}
        lengths = {case.length for case in cases}
        assert 0 in lengths and max(lengths) * 8 > 16e6
        assert any(length % ranks == 0 for length in lengths)
        assert ranks == 1 or any(length % ranks and length > ranks for length in lengths)
        assert ranks == 1 or any(0 < length < ranks for length in lengths)


ENDS = """import os, sys

def allreduce(comm, array, out=None):
    {body}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("comm.Recv(array, (comm.rank + 1) % comm.size)", "rank 0 waits in Recv on line 4"),
        ("os._exit(3)", "the job ends with status 3"),
        ("open(sys.argv[2] + '/0', 'w').write('x' * 100); os._exit(3)", "the job ends with status 3"),
        ("while True: print('x' * 1000)", "prints endlessly"),
    ],
)
def test_however_a_rank_ends_it_is_said(body, said, tmp_path):
    script = tmp_path / "allreduce.py"
    script.write_text(ENDS.format(body=body))
    with Pool() as pool:
        message = judge(script, 21, pool, figure=False).first_failure.message
    assert said in message, message
