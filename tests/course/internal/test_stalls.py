"""Deadlocks: the rank at fault is named, from reports that Horovod really wrote and from what ranks show.

The folder reports/ holds the reports of runs of two to four ranks under mpirun, as the launcher relayed them: rank 0's
lines, and where Horovod's callback was in the tracebacks of the others. A file's name says what the script did.
"""

import re
from pathlib import Path

import pytest

from course.internal import stalls

REPORTS = Path(__file__).parent / "reports"
METRICS, VARIABLES, GRADIENTS = stalls.METRICS, stalls.VARIABLES, stalls.GRADIENTS


def explained(name: str) -> list[stalls.Wait]:
    printed: dict[int, list[str]] = {}
    for line in (REPORTS / f"{name}.txt").read_text().splitlines():
        rank, text = re.fullmatch(r"\[(\d)\] ?(.*)", line).groups()
        printed.setdefault(int(rank), []).append(text)
    return stalls.reported(printed, int(name[-1]))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("average_on_rank_0_of_2", f"rank 0 waits in {METRICS}; rank 1 never joins it: it waits in {GRADIENTS}"),
        ("average_on_rank_1_of_2", f"rank 1 waits in {METRICS}; rank 0 never joins it: it waits in {GRADIENTS}"),
        (
            "no_average_on_rank_2_of_3",
            f"rank 0 and rank 1 wait in {METRICS}; rank 2 never joins it: it waits in {GRADIENTS}",
        ),
        ("broadcast_on_rank_0_of_2", f"rank 0 waits in {VARIABLES}; rank 1 never joins it: it waits in {GRADIENTS}"),
        ("no_broadcast_on_rank_2_of_3", f"rank 0 and rank 1 wait in {VARIABLES}; rank 2 never joins it"),
        ("more_steps_on_rank_1_of_2", f"rank 0 waits in {METRICS}; rank 1 never joins it: it waits in {GRADIENTS}"),
        (
            "fewer_steps_on_rank_1_of_4",
            f"rank 1 waits in {METRICS}; rank 0, rank 2 and rank 3 never join it: they wait in {GRADIENTS}",
        ),
        ("under_if_on_rank_0_of_2", "rank 0 waits in “accuracy”; rank 1 never joins it: it waits in “gradients”"),
        ("rank_2_sleeps_of_3", "rank 0 and rank 1 wait in “gradients”; rank 2 never joins it"),
        ("rank_1_and_3_sleep_of_4", "rank 0 and rank 2 wait in “gradients”; rank 1 and rank 3 never join it"),
        (
            "each_elsewhere_of_3",
            "rank 1 waits in “loss”; rank 2 never joins it: it waits in “accuracy”; rank 0 never joins it: it waits in "
            "“gradients”",
        ),
        ("no_name_of_2", "rank 0 waits in an allreduce; rank 1 never joins it"),
    ],
)
def test_a_report_of_horovod_is_explained(name, message):
    assert stalls.explain(explained(name)) == message


def test_each_recorded_report_is_used():
    marks = test_a_report_of_horovod_is_explained.pytestmark[0].args[1]
    assert {path.stem for path in REPORTS.iterdir()} == {name for name, _ in marks}


def test_what_to_look_at_goes_with_the_collective_and_the_rank_at_fault():
    assert "a MetricAverageCallback that rank 2 lacks" in stalls.advice(explained("no_average_on_rank_2_of_3"))
    assert "a broadcast, or its callback, that rank 1 lacks" in stalls.advice(explained("broadcast_on_rank_0_of_2"))
    assert "every rank joins every collective" in stalls.advice(explained("rank_2_sleeps_of_3"))
    waits = stalls.shown({"rank 0": "", "rank 1": "allreduce of a tensor (3,) in allreduce_grads"})
    assert "steps or epochs that differs" in stalls.advice(waits)


def test_the_first_report_is_not_used_where_a_later_one_has_more_ranks():
    lines = ["Missing ranks:", "1: [a]", "Missing ranks:", "0: [b]", "1: [a]", "2: [a]"]
    assert stalls.reported({0: lines}, 3) == [
        stalls.Wait("“b”", ("rank 1", "rank 2"), ("rank 0",)),
        stalls.Wait("“a”", ("rank 0",), ("rank 1", "rank 2")),
    ]


@pytest.mark.parametrize(
    ("tensor", "words"), [("DistributedSGD_Allreduce", stalls.GRADIENTS), ("HorovodBroadcast_SGD", stalls.VARIABLES)]
)
def test_ranks_that_have_other_names_for_the_same_tensors_wait_for_each_other(tensor, words):
    lines = ["Missing ranks:", f"0: [{tensor}/a]", f"1!: [{tensor}/b]"]
    waits = stalls.reported({0: lines}, 2)
    assert {wait.inside for wait in waits} == {("rank 0",), ("rank 1",)}
    assert stalls.explain(waits).startswith(f"rank 0 and rank 1 wait in {words}, each with tensors")


def test_a_long_list_of_tensors_is_read_to_its_end():
    """Horovod lists six tensors of a rank, and three dots for the others."""
    lines = ["Missing ranks:", f"0!: [{', '.join('abcdef')} ...]"]
    assert [wait.collective for wait in stalls.reported({0: lines}, 2)] == [f"“{letter}”" for letter in "abcdef"]


def test_without_a_report_there_is_nothing_to_explain():
    assert stalls.reported({0: ["trained"], 1: []}, 2) == []


def test_where_two_collectives_are_as_late_as_each_other_no_rank_is_blamed():
    waits = stalls.shown({"rank 0": "allreduce “loss”", "rank 1": "allreduce “accuracy”"})
    assert stalls.at_fault(waits) is None
    assert stalls.explain(waits) == "rank 0 waits in allreduce “loss”; rank 1 waits in allreduce “accuracy”"
    assert stalls.advice(waits) == stalls.EXPECTED


@pytest.mark.parametrize("words", ["broadcast_variables", "_average_metrics_in_place"])
def test_a_rank_in_the_gradients_has_skipped_what_comes_once(words):
    """Gradients are averaged in every step, so a rank that waits there has left the other collective behind."""
    for skipped, other in (("rank 0", "rank 1"), ("rank 1", "rank 0")):
        places = {"rank 0": "", "rank 1": ""} | {
            skipped: "allreduce in allreduce_grads",
            other: f"allreduce in {words}",
        }
        assert stalls.at_fault(stalls.shown(places)).missing == (skipped,)


def test_ranks_that_show_no_collective_are_described():
    places = {"rank 0": "broadcast of a tensor (3,) in broadcast_variables", "rank 1": "", "rank 2": ""}
    text = stalls.explain(stalls.shown(places), {"rank 1": "never reaches a collective", "rank 2": "has ended"})
    assert text == f"rank 0 waits in {VARIABLES}; rank 1 never reaches a collective; rank 2 has ended"


def test_ranks_that_are_all_in_one_place_are_none_s_fault():
    waits = stalls.shown({"worker 0": "model.fit", "worker 1": "model.fit"})
    assert stalls.explain(waits) == "worker 0 and worker 1 wait in model.fit"
    assert stalls.advice(waits) == stalls.EXPECTED
