"""The checks of step 22, on what the functions of the corpus return, without hosts."""

import pytest

from grader.checks import prediction as checks
from tests.corpus import CORRECT, WRONG
from tests.grader.checks.made_up_prediction import NAME, PREDICTION, SECONDS, predicted

RUN = [row for row in WRONG["prediction"] if row.fails]  # the others cannot be imported


def first_failing(row, folder):
    """Return the function of the first check that fails, with what it finds; None, None if all pass."""
    program = folder / "predict.py"
    program.write_text(row.text())
    runs, expected = predicted(program), predicted()
    for check in checks.part.checks:
        if found := check.judge(runs, expected, PREDICTION.source):
            return check.judge.__name__, found
    return None, None


@pytest.mark.parametrize("row", CORRECT["prediction"], ids=lambda row: row.name)
def test_a_correct_file_passes(row, tmp_path):
    assert first_failing(row, tmp_path) == (None, None)


@pytest.mark.parametrize("row", RUN, ids=lambda row: row.name)
def test_a_wrong_file_fails_where_it_is_wrong(row, tmp_path):
    check, found = first_failing(row, tmp_path)
    assert check == row.check and found.expected


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("one half of the ring", "Only one of the two halves"),
        ("the whole array in each message of the ring", "carries the whole array"),
        ("the latency once", "The latency counts once"),
        ("bits in place of bytes", "as bits"),
        ("all algorithms are rings", "the time of a ring"),
        ("gathered, and not sent back", "Only the way to rank 0"),
        ("nothing is hidden", "Nothing is hidden"),
        ("a share of the communication is hidden", "not that of the computation"),
        ("less than the computation", "less time than its computation"),
        ("the rate in place of beta", "bytes per second"),
    ],
)
def test_a_mistake_is_recognised_by_its_number(name, hint, tmp_path):
    row = next(row for row in RUN if row.name == name)
    assert hint in first_failing(row, tmp_path)[1].message


def of_network(**values):
    """Return a change of what was predicted and measured between hosts."""

    def change(runs):
        for name, value in values.items():
            setattr(runs.clusters[NAME][0].facts.network, name, value)

    return change


@pytest.mark.parametrize(
    ("measured", "model", "passes"),
    [
        (1.1 * SECONDS, 1.1 * SECONDS, True),
        (1.3 * SECONDS, 1.3 * SECONDS, False),
        (1.3 * SECONDS, 1.1 * SECONDS, True),  # the course's own model is wrong by 15% of what is measured
        (0.8 * SECONDS, 0.8 * SECONDS, False),
    ],
)
def test_a_prediction_may_miss_by_15_percent_and_by_as_much_as_the_model(measured, model, passes):
    found = PREDICTION.find(checks.network, of_network(measured=measured, model=model))
    assert (found is None) == passes


def test_without_a_prediction_there_is_nothing_to_see():
    PREDICTION.is_not_checked(
        checks.network, lambda runs: setattr(runs.clusters[NAME][0].facts, "network", None), "no step was predicted"
    )
