"""Simulated hosts: each rank is where Horovod's own launcher would put it."""

import pytest
from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts

from course.internal.simulated_hosts import slot


@pytest.mark.parametrize(
    ("layout", "hosts"),
    [
        ((1, 3, None), "host-0:3"),
        ((2, 1, None), "host-0:1,host-1:1"),
        ((3, 2, None), "host-0:2,host-1:2,host-2:2"),
        ((2, 2, 1), "host-0:1,host-1:2"),
        ((3, 3, 2), "host-0:2,host-1:3,host-2:3"),
    ],
)
def test_ranks_are_where_horovod_puts_them(layout, hosts):
    size = slot(0, *layout).size
    for rank, assigned in enumerate(get_host_assignments(parse_hosts(hosts), size)):
        assert slot(rank, *layout)._asdict() == vars(assigned)
