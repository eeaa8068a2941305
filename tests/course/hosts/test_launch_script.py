"""solutions/hosts/launch.sh on real hosts: what it starts where, what the ranks get, and how it ends."""

import contextlib
import json
import subprocess
import sys
import threading

import psutil
import pytest

from course import hosts
from course.steps import SOLUTIONS
from tests.course.hosts import rank
from tests.course.hosts.test_hosts import says

VARIABLES = {"DATA": "/shared/the data", "DATA_NETWORK": "10.77.0.0/24", "RUN": "a run"}


@pytest.fixture
def cluster():
    with hosts.up(2, slots=2, rate="1gbit") as started:
        for folder in ("the data", "seen"):
            (started.shared / folder).mkdir(mode=0o777)
        (started.shared / "the data" / "images").write_text("some images")
        yield started


def launch(cluster, *arguments, seed="7", hostfile="/cluster/hostfile"):
    """Start launch.sh with ranks that say what they were given."""
    command = ["bash", str(SOLUTIONS / "hosts" / "launch.sh"), hostfile, sys.executable, rank.__file__, "/shared/seen"]
    return cluster.start([*command, *arguments], variables={**VARIABLES, "SEED": seed})


def ended(process, seconds=100):
    """Return the exit status of a process, and what it printed since; end it after so many seconds."""
    late = threading.Event()
    timer = threading.Timer(seconds, lambda: (late.set(), process.end()))
    timer.start()
    printed = process.output.read().decode()
    timer.cancel()
    if late.is_set():
        raise subprocess.TimeoutExpired("launch.sh", seconds, printed)
    return process.wait(), printed


def wait_until_up(process):
    """Read what a process prints until the four ranks are up."""
    up = 0
    while up < 4:
        line = process.output.readline()
        assert line, "it has ended"
        up += line == b"up\n"


def ranks(cluster):
    """Return what each rank was given."""
    found = sorted(cluster.shared.glob("seen/*.json"))
    return [json.loads(path.read_text()) for path in found]


def left(cluster):
    """Return what runs on the first host for more than a minute."""
    return psutil.wait_procs(cluster.processes()["node1"], timeout=60)[1]


def received(cluster, host, interface):
    return int(says(cluster, f"cat /sys/class/net/{interface}/statistics/rx_bytes", host))


def test_all_ranks_start_where_the_hostfile_says_with_all_that_they_need(cluster):
    (cluster.shared / "hostfile").write_text("# two hosts\nnode2 slots=1\n\nnode1 slots=2  # no newline")
    before = [received(cluster, "node1", interface) for interface in ("eth0", "eth1")]
    status, printed = ended(launch(cluster, "two  words", "--flag", hostfile="/shared/hostfile"))
    assert status == 0, printed
    found = ranks(cluster)
    assert sorted(each["host"] for each in found) == ["node1", "node1", "node2"]
    assert all(each["variables"] == {"RUN": "a run", "SEED": "7"} for each in found)
    assert all(each["data"] == ["/scratch/data", ["some images"]] for each in found)
    assert all(each["arguments"] == ["two  words", "--flag"] for each in found)
    data, management = (received(cluster, "node1", f"eth{n}") - before[n] for n in (0, 1))
    assert data > rank.MEGABYTES * 10**6 and management < 10**5


def test_a_rank_that_fails_ends_all_ranks_and_fails_the_script(cluster):
    for _ in range(3):  # on a busy machine, mpirun hangs in one of 60 such runs, with all ranks gone
        with contextlib.suppress(subprocess.TimeoutExpired):
            status, printed = ended(launch(cluster, seed="fail"), 40)
            break
    assert status != 0, printed  # 3, or that of another rank, which has noticed first
    assert left(cluster) == []


def test_no_rank_starts_without_the_data(cluster):
    cluster.fill_disk("node2")
    status, printed = ended(launch(cluster))
    assert status == 1 and "launch.sh: node2 has no copy of /shared/the data" in printed
    assert ranks(cluster) == []


@pytest.mark.parametrize("fault", ["pull_cable", "kill"])
def test_a_host_that_no_longer_answers_is_named_and_the_others_stop(cluster, fault):
    process = launch(cluster, seed="wait")
    wait_until_up(process)
    getattr(cluster, fault)("node2")
    status, printed = ended(process)
    assert status == 1 and "launch.sh: node2 does not answer, so the training was stopped" in printed
    assert left(cluster) == []


def test_the_ranks_end_with_the_script(cluster):
    process = launch(cluster, seed="wait")
    wait_until_up(process)
    shells = {}
    for each in cluster.processes()["head"]:
        with contextlib.suppress(psutil.NoSuchProcess):  # some live as long as one command
            if each.name() == "bash":
                shells[each.create_time()] = each
    shells[min(shells)].terminate()
    assert left(cluster) == []
    assert ended(process)[0] == 143


def test_what_is_missing_is_said(cluster):
    assert ended(launch(cluster, hostfile="/none")) == (1, "launch.sh: the hostfile /none cannot be read\n")
    command = ["bash", str(SOLUTIONS / "hosts" / "launch.sh"), "/cluster/hostfile", "true"]
    status, printed = ended(cluster.start(command, variables={"DATA": "/shared"}))
    assert status == 1 and printed.startswith("launch.sh: set the variable DATA_NETWORK;")
