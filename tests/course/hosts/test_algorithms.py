"""Algorithms for an allreduce, measured between hosts."""

import pytest

from course import hosts
from course.hosts import HostsError, algorithms
from course.steps import get

pytestmark = pytest.mark.slow

SIZE = 400_000


def test_messages_and_bytes_are_those_of_the_algorithms():
    with hosts.up(4, slots=1, rate="1gbit") as cluster:
        timings = {each.algorithm: each for each in algorithms.measure(cluster, [SIZE])}
    assert list(timings) == [*algorithms.NAMES, "ring", "Open MPI"]
    assert timings["ring"].messages == [6] * 4 and timings["recursive_doubling"].messages == [2] * 4
    assert timings["tree"].messages == [2, 1, 2, 1] and timings["gather_and_broadcast"].messages == [3, 1, 1, 1]
    assert timings["Open MPI"].messages == [0] * 4
    arrays = {name: [received / SIZE for received in each.received] for name, each in timings.items()}
    headers = 0.1  # the share of TCP's headers and acknowledgements, at most
    assert arrays["ring"] == pytest.approx([1.5] * 4, rel=headers)
    assert arrays["gather_and_broadcast"] == pytest.approx([3, 1, 1, 1], rel=headers)
    assert all(each.seconds > 0 and each.ranks == 4 and each.size == SIZE for each in timings.values())


def test_a_function_that_does_not_sum_is_refused():
    with hosts.up(2, slots=1) as cluster, pytest.raises(HostsError, match="ring does not return the sum"):
        algorithms.measure(cluster, [1000], chosen=["ring"], ring=get(21).starter)


def test_ranks_that_end_without_a_result_are_an_error(tmp_path):
    program = tmp_path / "allreduce.py"
    program.write_text("raise SystemExit(0)\n")
    with hosts.up(2, slots=1) as cluster, pytest.raises(HostsError, match="could not be measured"):
        algorithms.measure(cluster, [1000], chosen=["ring"], ring=program)
