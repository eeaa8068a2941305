"""The training whose computation is a pause: between hosts, its steps take what the model says."""

import pytest

from course import hosts
from course.hosts import step_time

pytestmark = pytest.mark.slow


def test_overlap_hides_communication():
    """4 MB on two hosts with 100 Mbit/s: 0.33 s of communication, of which 0.3 · 0.58 s are hidden."""
    with hosts.up(3, slots=1, rate="100mbit") as cluster:
        hidden, plain = (
            min(step_time.measure(cluster, 2, megabytes=4, compute=0.3, overlap=overlap)) for overlap in (True, False)
        )
        assert [each.ranks for each in step_time.allreduces(cluster, [40, 1000])] == [3, 3]
    assert hidden < 0.9 * plain
    assert plain > 0.3 + 0.3


def test_all_wait_for_the_slowest_rank():
    with hosts.up(2, slots=1) as cluster:
        seconds = step_time.measure(cluster, 2, megabytes=0.1, compute=0.1, spread=0.5, steps=8)
    assert len(seconds) == 8 and sum(seconds) / 8 > 0.1
