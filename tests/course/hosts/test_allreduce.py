"""The measurement of an allreduce between hosts."""

import statistics

import pytest

from course import hosts
from course.hosts import allreduce, layout


@pytest.mark.slow
def test_an_allreduce_takes_longer_over_the_slower_network():
    with hosts.up(2, slots=1, rate="100mbit") as cluster:
        data = allreduce.measure(cluster, layout.DATA, megabytes=1, times=3)
        management = allreduce.measure(cluster, layout.MANAGEMENT, megabytes=1, times=3)
    assert len(data) == len(management) == 3
    assert statistics.median(management) > 3 * statistics.median(data)  # ten times the bits per second


def test_ranks_that_fail_are_shown():
    with (
        hosts.up(1) as cluster,
        pytest.raises(hosts.HostsError, match=r"(?s)data network could not be measured:.*'no'"),
    ):
        allreduce.measure(cluster, layout.DATA, megabytes="no")
