"""The checks of step 21, on made-up facts: what each one says of a function that lacks what is asked for."""

from dataclasses import dataclass

import pytest

from grader.checks import allreduce as checks
from grader.reading import parsing
from grader.terms.facts import Error
from tests.grader.checks.made_up import of, rows
from tests.grader.checks.made_up_allreduce import (
    ALLREDUCE,
    EMPTY,
    EVEN,
    INTO,
    LARGE,
    NAME,
    ODD,
    OTHER,
    of_attempts,
    summed,
)

OWN_ONLY = {"first": 4, "last": 6, "wrong": 3, "times": [0, 1, 0]}
TWICE = {"first": 0, "last": 0, "wrong": 3, "times": [1, 2, 1]}
WRONG = {
    checks.sums: [
        (
            of_attempts(EVEN, 2, **OWN_ONLY),
            "Rank 2 (3 ranks, 6 elements of float32): elements 4 to 6 are rank 1's values only",
        ),
        (
            of_attempts(EVEN, 0, **TWICE),
            "element 0 is the sum of rank 0's, twice rank 1's and rank 2's values; 2 other",
        ),
        (of_attempts(EVEN, 1, **TWICE | {"times": [0, 0, 0]}), "element 0 is zero;"),
        (of_attempts(EVEN, 1, **TWICE | {"times": []}), "element 0 is no sum of the ranks' values"),
        (
            of_attempts(EVEN, returned="NoneType"),
            "Rank 0 (3 ranks, 6 elements of float32): allreduce returns NoneType.",
        ),
    ],
    checks.lengths: [
        (of_attempts(ODD, 1, **OWN_ONLY), "(3 ranks, 7 elements of float64): elements 4 to 6 are rank 1's")
    ],
    checks.in_place: [
        (of_attempts(EVEN, 1, changed=True), "Rank 1 (3 ranks, 6 elements of float32): `array` is changed."),
        (of_attempts(OTHER, elsewhere=True), "another array as out): `out` has other elements than the array"),
        (of_attempts(INTO, 2, **OWN_ONLY), "Rank 2 (3 ranks, 6 elements of float64, out=array): elements 4 to 6 are"),
    ],
    checks.messages: [
        (of_attempts(ODD, 0, messages=2), "sends 2 messages, as Open MPI counts. Expected: 4, which is 2(N - 1)."),
        (of_attempts(ODD, messages=0), "nor persistent requests"),
        (of_attempts(EMPTY, messages=5), "sends 5 messages"),
    ],
    checks.traffic: [
        (of_attempts(LARGE, 1, bytes=32_000_016), "sends 32.0 MB, as Open MPI counts. Expected: 21.3 MB"),
        (of_attempts(LARGE, 1, bytes=10_666_672), "sends 10.7 MB"),
    ],
}


@pytest.mark.parametrize(("check", "change", "message"), rows(WRONG))
def test_what_is_missing_is_said(check, change, message):
    assert ALLREDUCE.fails(check, change, message).line


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (checks.messages, of_attempts(EMPTY, messages=0)),  # what is empty need not be sent
        (checks.traffic, of_attempts(LARGE, bytes=21_400_000)),
        (checks.traffic, of_attempts(EVEN, bytes=1000)),  # pickled
    ],
)
def test_what_may_differ_passes(check, change):
    assert ALLREDUCE.find(check, change) is None


@pytest.mark.parametrize("check", [check.judge for check in checks.part.checks])
def test_a_case_that_does_not_end_is_not_checked(check):
    unended = [of_attempts(case, 1, ended=False) for case in (EVEN, ODD, INTO, LARGE)]
    ALLREDUCE.is_not_checked(check, tuple(unended), "Rank 1 (3 ranks, ")


@dataclass
class Waiting:
    """A program of which ranks wait, and what is said of them."""

    program: str
    lines: dict[int, int | None]  # by rank
    said: tuple[str, ...]


SENDS = "def allreduce(comm, array, out=None):\n    comm.Send(array, 1)\n    comm.Recv(array, 0)\n"
WAITING = [
    Waiting(
        SENDS, {0: 2, 1: 2, 2: 2}, ("Deadlock (3 ranks, 16.0 MB", "ranks 0, 1 and 2 wait in Send on line 2", "Isend")
    ),
    Waiting(SENDS, {0: 3}, ("rank 0 waits in Recv on line 3; ranks 1 and 2 have returned", "no rank has sent")),
    Waiting(SENDS.replace("comm.", "MPI.COMM_WORLD."), {0: 2, 1: 3, 2: 3}, ("ranks 1 and 2 wait in Recv", "use comm")),
    Waiting(
        "while True:\n    pass\n",
        {0: 1, 1: 2, 2: None},
        ("does not end (", "rank 0 is still on line 1", "at work", "loop"),
    ),
]


@pytest.mark.parametrize("waiting", WAITING, ids=lambda waiting: waiting.said[0])
def test_who_waits_where_is_said(waiting):
    runs = summed()
    of(NAME, ended_for="time")(runs)
    for rank, line in waiting.lines.items():
        of_attempts(LARGE, rank, ended=False, line=line)(runs)
    outcome = checks.part.ended(runs, 21, 60, waiting.program)
    assert outcome.status == "failed" and all(words in outcome.message for words in waiting.said), outcome.message


@pytest.mark.parametrize(
    ("changes", "said", "line"),
    [
        ((of(NAME, ended_for="output"),), "prints endlessly", None),
        ((of(NAME, ended_for="time", attempts=[]),), "The ranks do not end.", None),
        ((of(NAME, exit=139, stdout="killed"),), "the job ends with status 139. Expected: ", None),
        (
            (of_attempts(ODD, 1, ended=False), of(NAME, exit=1)),
            "Rank 1 (3 ranks, 7 elements of float64): the job",
            None,
        ),
    ],
)
def test_a_job_that_does_not_end_well_fails(changes, said, line):
    runs = summed()
    for change in changes:
        change(runs)
    outcome = checks.part.ended(runs, 21, 60, ALLREDUCE.source.text)
    assert outcome.status == "failed" and said in outcome.message and outcome.line == line


def test_an_error_is_said_with_its_case_and_line():
    runs = summed()
    of_attempts(ODD, 2, ended=False, error=Error("ValueError", "odd", 7, ""))(runs)
    of(NAME, error="ValueError: odd", error_line=7, exit=1)(runs)
    outcome = checks.part.ended(runs, 21, 60, ALLREDUCE.source.text)
    assert "Rank 2 (3 ranks, 7 elements of float64) fails: ValueError: odd." in outcome.message and outcome.line == 7


def test_a_function_that_ends_passes():
    assert checks.part.ended(summed(), 21, 60, ALLREDUCE.source.text).status == "passed"
    assert parsing.read(SENDS).line_of("allreduce") == 1
