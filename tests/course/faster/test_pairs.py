"""Pairs of measurements, and the decision that follows from them."""

import pytest

from course.faster.pairs import Pair, TuningLog


@pytest.mark.parametrize(
    ("after", "decision"),
    [((1.0, 1.2), "keep"), ((2.0, 2.1), "drop"), ((1.0, 2.1), "measure again"), ((1.95, 1.95), "drop")],
)
def test_a_change_is_kept_if_it_is_faster_in_each_pair(after, decision):
    log = TuningLog().add("fusion", None, [Pair(2.0, each) for each in after])
    assert log.changes["fusion"].decision == decision


def test_the_log_shows_predictions_next_to_what_was_measured():
    log = TuningLog().add("fp16", 1.8, [Pair(2.0, 1.0), Pair(3.0, 2.0)])
    shown = log._repr_html_()
    assert all(f"<td>{cell}</td>" in shown for cell in ("fp16", "1.8", "2.00, 1.50", "1.75", "keep"))


def test_a_change_that_is_measured_again_replaces_its_line():
    log = TuningLog().add("fp16", None, [Pair(2.0, 1.0)]).add("fp16", None, [Pair(1.0, 1.0)])
    assert [change.decision for change in log.changes.values()] == ["drop"]
