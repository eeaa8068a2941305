"""The hosts: names, networks, disks, ssh, and mpirun over them."""

import json
import os
import selectors
import sys
from pathlib import Path

import pytest

from course import hosts

ADDRESSES = "import json, psutil, socket; print(json.dumps({n: [a.address for a in of if a.family == socket.AF_INET] "
ADDRESSES += "for n, of in psutil.net_if_addrs().items()}))"


@pytest.fixture(scope="module")
def cluster():
    with hosts.up(2, slots=2, rate="40mbit") as started:
        yield started


# Not hostname: of programs that last only milliseconds, mpirun sometimes misses the end on other hosts, and hangs.
NAME = "python -c 'import platform; print(platform.node())'"


def says(cluster, command, on="head"):
    """Return what a shell command prints on a host; it has to succeed."""
    done = cluster.run(["sh", "-c", command], on, say=lambda line: None)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_each_host_has_its_name(cluster):
    assert [says(cluster, "hostname", host) for host in ("head", "node1", "node2")] == ["head\n", "node1\n", "node2\n"]


def test_a_harmless_warning_of_open_mpi_is_not_shown(cluster):
    said = []
    lines = "plm:ssh: Warning: setpgid(7,7) failed in parent with errno=Permission denied(13)\nready"
    done = cluster.run(["echo", lines], say=said.append)
    assert said == ["ready"] and "setpgid" in done.stdout


def test_names_stand_for_addresses_on_both_networks(cluster):
    found = says(cluster, "getent hosts head node1 node2 node1-management", "node2").splitlines()
    names = {"head": "10.77.0.254", "node1": "10.77.0.1", "node2": "10.77.0.2", "node1-management": "10.78.0.1"}
    assert [line.split() for line in found] == [[address, name] for name, address in names.items()]


def test_each_host_has_a_loopback_and_two_interfaces_of_its_own(cluster):
    found = [json.loads(says(cluster, f"{sys.executable} -c '{ADDRESSES}'", host)) for host in ("node1", "node2")]
    assert found[0] == {"lo": ["127.0.0.1"], "eth0": ["10.77.0.1"], "eth1": ["10.78.0.1"]}
    assert found[1] == {"lo": ["127.0.0.1"], "eth0": ["10.77.0.2"], "eth1": ["10.78.0.2"]}
    assert says(cluster, "ls /sys/class/net", "node1").split() == ["eth0", "eth1", "lo"]


def test_hosts_have_the_names_and_slots_that_they_are_given():
    with hosts.up(["ada", "bert"], slots=[1, 3]) as cluster:
        assert cluster.hosts == ["ada", "bert"]
        assert says(cluster, "cat /cluster/hostfile; ssh bert hostname") == "ada slots=1\nbert slots=3\nbert\n"


@pytest.mark.parametrize(
    ("names", "slots", "said"),
    [
        (["ada", "head"], 1, "A host cannot be called 'head'"),
        (["node-1"], 1, "A host cannot be called 'node-1'"),
        (["ada", "ada"], [1, 1], "a name of its own"),
        (["ada"], [1, 2], "the slots of each"),
    ],
)
def test_wrong_names_and_slots_are_refused(names, slots, said):
    with pytest.raises(hosts.HostsError, match=said):
        hosts.up(names, slots=slots)


@pytest.mark.parametrize(
    ("name", "interface", "other"), [("node2", "eth0", "eth1"), ("node2-management", "eth1", "eth0")]
)
def test_a_name_leads_through_its_network(cluster, name, interface, other):
    def sent():
        counts = [f"/sys/class/net/{each}/statistics/tx_bytes" for each in (interface, other)]
        return [int(count) for count in says(cluster, f"cat {' '.join(counts)}", "node2").split()]

    before = sent()
    says(cluster, f"ssh {name} head -c 3000000 /dev/zero")
    through, past = (after - first for after, first in zip(sent(), before, strict=True))
    assert through > 300000 and past < 30000


def raced(cluster, fast, slow):
    """Return how many times more bytes one host sends than another, while both send as fast as they can."""
    received = {}
    with selectors.DefaultSelector() as ready:
        senders = [cluster.start(["ssh", name, "cat", "/dev/zero"]) for name in (fast, slow)]
        try:
            for sender in senders:
                os.read(sender.output.fileno(), 2**20)  # both have started when the race does
            for sender in senders:
                ready.register(sender.output, selectors.EVENT_READ, sender)
                received[sender] = 0
            while received[senders[0]] < 6 * 2**20:
                for key, _ in ready.select():
                    received[key.data] += len(os.read(key.fd, 2**20))
        finally:
            for sender in senders:
                sender.close()
    return received[senders[0]] / max(1, received[senders[1]])


def test_the_management_network_is_slower(cluster):
    assert raced(cluster, "node1", "node2-management") > 3  # ten times, once what is buffered has passed


def test_a_slow_cable_is_slower_than_another(cluster):
    cluster.slow("node2", "2mbit")
    try:
        assert raced(cluster, "node1", "node2") > 5  # twenty times
    finally:
        cluster.revive("node2")
    assert raced(cluster, "node1", "node2") < 5


def test_a_scratch_folder_is_a_host_s_own_and_the_shared_one_is_everyone_s(cluster):
    says(cluster, "echo mine > /scratch/file; echo ours > /shared/file", "node1")
    assert says(cluster, "ls /scratch; cat /shared/file", "node2") == "ours\n"
    assert (cluster.scratch("node1") / "file").read_text() == "mine\n"
    assert (cluster.shared / "file").read_text() == "ours\n"
    assert not list(cluster.scratch("node2").iterdir())


def test_a_command_runs_in_the_folder_of_its_caller(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    says(cluster, "echo here > file")
    assert (tmp_path / "file").read_text() == "here\n"


def test_processes_are_seen_from_outside_on_their_host(cluster):
    sleeping = cluster.start(["python", "-c", "import time; print('up', flush=True); time.sleep(99)"], "node2")
    assert sleeping.output.readline() == b"up\n"
    found = {host: [" ".join(process.cmdline()) for process in of] for host, of in cluster.processes().items()}
    assert found["head"] == found["node1"] == [] and len(found["node2"]) == 1 and "time.sleep(99)" in found["node2"][0]
    assert "time.sleep(99)" in says(cluster, "cat /proc/[0-9]*/cmdline", "node2")
    assert "time.sleep(99)" not in says(cluster, "cat /proc/[0-9]*/cmdline", "node1")
    sleeping.close()


def test_ssh_passes_on_standard_input_both_outputs_and_the_exit_status(cluster):
    far = "hostname; cat; echo error >&2; exit 7"
    there = f"echo in | ssh -o BatchMode=yes user@node2 -p 22 '{far}' 2>/shared/errors; echo $?; cat /shared/errors"
    assert says(cluster, there, "node1") == "node2\nin\n7\nerror\n"


def test_ssh_without_a_command_takes_them_from_standard_input(monkeypatch):
    monkeypatch.delenv("SHELL", raising=False)  # services and containers often lack it
    with hosts.up(1) as cluster:
        assert says(cluster, "echo hostname | ssh node1") == "node1\n"


def test_ssh_starts_at_home_with_the_course_s_programs(cluster):
    home, program = says(cluster, "ssh node1 'pwd; command -v mpirun'").splitlines()
    assert home == os.environ["HOME"] and Path(program) == Path(sys.executable).parent / "mpirun"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("ssh node9 true", "There is no host node9: it is not in /etc/hosts."),
        ("ssh -p 23 node1 true", "node1, port 23, cannot be reached: Connection refused."),
        ("ssh node1 'kill -9 $PPID'", "The connection to node1 was closed before the command ended."),
    ],
)
def test_ssh_says_why_there_is_no_connection(cluster, command, reason):
    done = cluster.run(["sh", "-c", command], say=lambda line: None)
    assert done.returncode == 255 and done.stdout == f"ssh: {reason}\n"


def test_mpirun_fills_the_slots_of_one_host_after_the_other(cluster):
    printed = says(cluster, f"mpirun --output rank -np 4 --hostfile /cluster/hostfile {NAME}")
    ranks = sorted(line for line in printed.splitlines() if "<stdout>" in line)  # mpirun may warn of a race of its own
    assert ranks == [f"[{rank}]<stdout>: {host}" for rank, host in enumerate(["node1"] * 2 + ["node2"] * 2)]


def test_mpirun_puts_one_rank_on_each_host(cluster):
    printed = says(cluster, f"mpirun --host node1:2,node2:2 --map-by ppr:1:node {NAME}")
    assert sorted(line for line in printed.splitlines() if line in cluster.hosts) == ["node1", "node2"]


WHERE = """
import socket
import horovod.tensorflow as hvd
hvd.init()
print("at", hvd.rank(), socket.gethostname(), hvd.local_rank(), hvd.cross_rank(), hvd.cross_size())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "launcher", ["mpirun -np 4 --hostfile /cluster/hostfile", "horovodrun --gloo -np 4 -H node1:2,node2:2"]
)
def test_horovod_knows_the_hosts(cluster, launcher, tmp_path):
    (tmp_path / "where.py").write_text(WHERE)
    printed = says(cluster, f"{launcher} python {tmp_path}/where.py")
    found = sorted(line.partition("at ")[2] for line in printed.splitlines() if "at " in line)
    assert found == ["0 node1 0 0 2", "1 node1 1 0 2", "2 node2 0 1 2", "3 node2 1 1 2"]
