"""Faults of hosts: each shows where it should, and a host comes back from it."""

import sys

import pytest

from course import hosts
from tests.course.hosts.test_hosts import says


@pytest.fixture(scope="module")
def cluster():
    with hosts.up(2) as started:
        yield started


def test_a_pulled_cable_cuts_off_the_data_network_alone(cluster):
    cluster.pull_cable("node2")
    done = cluster.run(["ssh", "node2", "true"], say=lambda line: None)
    assert done.returncode == 255 and "node2, port 22, cannot be reached" in done.stdout
    assert says(cluster, "ssh node2-management 'hostname; cat /sys/class/net/eth0/carrier'") == "node2\n0\n"
    assert says(cluster, "ssh node1 hostname") == "node1\n"
    cluster.revive("node2")
    assert says(cluster, "ssh node2 hostname") == "node2\n"


@pytest.mark.parametrize("given", ["SSH_OPTIONS='-o ServerAliveInterval=1' ssh", "ssh -oServerAliveInterval=1"])
def test_a_connection_that_is_kept_alive_ends_when_the_cable_is_pulled(cluster, given):
    waiting = cluster.start(["sh", "-c", f"{given} node2 'echo up; sleep 99'"])
    assert waiting.output.readline() == b"up\n"
    cluster.pull_cable("node2")
    said = waiting.output.read().decode()
    assert waiting.wait() == 255 and "The connection to node2 was closed before the command ended." in said
    cluster.revive("node2")


def test_a_host_may_not_see_the_shared_folder(cluster):
    says(cluster, "touch /shared/file")
    cluster.hide_shared("node1")
    assert says(cluster, "ssh node1 ls /shared; ssh node2 ls /shared") == "file\n"
    cluster.revive("node1")
    assert says(cluster, "ssh node1 ls /shared") == "file\n"


def test_a_full_disk_is_full_on_one_host(cluster):
    cluster.fill_disk("node1")
    done = cluster.run(["cp", sys.executable, "/scratch"], "node1", say=lambda line: None)
    assert done.returncode and "No space left on device" in done.stdout
    says(cluster, "echo more > /scratch/file", "node2")
    cluster.revive("node1")
    says(cluster, "echo more > /scratch/file", "node1")


def test_a_killed_host_is_gone_with_all_its_processes(cluster):
    far = cluster.start(["ssh", "node1", "setsid sleep 99 & echo up; sleep 99"])
    assert far.output.readline() == b"up\n"
    processes = cluster.processes()["node1"]
    assert len(processes) >= 2
    cluster.kill("node1")
    assert not any(process.is_running() for process in processes)
    assert far.output.read() == b"ssh: The connection to node1 was closed before the command ended.\n"
    far.close()
    assert list(cluster.processes()) == ["head", "node2"]
    with pytest.raises(hosts.HostsError, match=r"node1 is down. revive\('node1'\) boots it."):
        cluster.run(["hostname"], "node1")
    with pytest.raises(hosts.HostsError, match="node1 is down"):
        cluster.pull_cable("node1")
    assert says(cluster, "ssh node2 hostname") == "node2\n"
    cluster.revive("node1")


def test_a_revived_host_has_its_name_its_networks_and_an_empty_disk(cluster):
    says(cluster, "echo kept > /shared/file; echo lost > /scratch/file", "node1")
    cluster.kill("node1")
    cluster.revive("node1")
    assert says(cluster, "ssh node1 'hostname; cat /shared/file; ls /scratch'") == "node1\nkept\n"
    assert says(cluster, "ssh node1-management hostname") == "node1\n"


def test_a_killed_host_s_ranks_end_the_run(cluster):
    running = cluster.start(["mpirun", "--host", "node1,node2", "-np", "2", "sh", "-c", "echo up; sleep 99"])
    both = (line for line in running.output if line == b"up\n")  # among warnings of mpirun's
    assert [next(both), next(both)] == [b"up\n"] * 2
    cluster.kill("node2")
    assert b"node2" in running.output.read()  # mpirun names the host that it lost, and may yet exit with status 0
    running.close()
    cluster.revive("node2")


def test_a_request_that_makes_no_sense_is_refused(cluster):
    with pytest.raises(hosts.HostsError, match=r"There is no host node3\. There are head, node1, node2\."):
        cluster.kill("node3")
    with pytest.raises(hosts.HostsError, match="'fast' is not a rate"):
        cluster.slow("node1", "fast")
    assert says(cluster, "hostname", "node1") == "node1\n"
