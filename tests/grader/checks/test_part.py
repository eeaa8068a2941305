"""Messages of checks that are not judged: the program does not run, or another check has to pass first."""

import pytest

from grader.checks.part import Part
from grader.checks.training import CLUSTERS
from grader.reading import parsing
from grader.terms.facts import HorovodFacts
from grader.terms.findings import Finding
from grader.terms.runs import Rank, Runs

part = Part("script.py", HorovodFacts)


@part.check(3, hint="", clusters=CLUSTERS)
def first(runs, expected, source):
    """Gradients are averaged."""
    return Finding(seen="No", expected="yes")


@part.check(3, hint="", needs=(first,))
def of_the_same_step(runs, expected, source):
    """Losses are, too."""


@part.check(4, hint="", needs=(of_the_same_step,))
def of_the_next_step(runs, expected, source):
    """Weights are broadcast."""


def runs(reported=True):
    rank = Rank(0, 0, "Rank 0", "one host", 0, None, "", "", "", HorovodFacts(), reported=reported)
    return Runs({"one-host": [rank]})


@pytest.mark.parametrize(
    ("runs", "messages"),
    [
        (
            runs(),
            [
                "No. Expected: yes.",
                "Not checked until this passes: Gradients are averaged.",
                "Not checked until step 3 passes.",
            ],
        ),
        (runs(reported=False), ["Not checked: the program does not run."] * 3),
        (Runs({}), ["Not checked: the program does not run."] * 3),
    ],
)
def test_a_check_that_is_not_judged_says_why(runs, messages):
    outcomes, _ = part.compare(4, runs, runs, parsing.read("pass"))
    assert [outcome.message for outcome in outcomes] == messages
