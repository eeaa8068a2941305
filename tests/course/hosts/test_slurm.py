"""Slurm on the hosts: as root and as an ordinary user, with nodes that are drained or lost, leaving nothing."""

import os
import signal
import subprocess
import sys

import pytest

from course import hosts
from course.hosts import slurm
from course.steps import ROOT
from tests.conftest import wait_until_up
from tests.course.hosts.test_ending import USERS, machine
from tests.course.hosts.test_hosts import says

pytestmark = pytest.mark.skipif(slurm.missing() is not None, reason=str(slurm.missing()))

# What is to work for any user: prints "up" at the end, and waits if it is asked to.
WORKS = """
import os, sys
from course import hosts
from course.hosts import slurm
with hosts.up(["alpha", "beta"], slots=[1, 3]) as cluster, slurm.up(cluster) as scheduler:
    assert scheduler.states() == {"alpha": "idle", "beta": "idle"}
    assert scheduler.ask("sinfo", "-h", "-N", "-p", "long", "-o", "%N %c").split() == ["alpha", "1", "beta", "3"]
    names = scheduler.ask("srun", "--nodes", "2", "sh", "-c", "hostname; id -u").split()
    assert sorted(names) == sorted(["alpha", "beta", *2 * [str(os.getuid())]]), names
    number = scheduler.submit("--nodes=2", "--output=/shared/%j.out", "--wrap", "srun hostname; exit 3")
    job = scheduler.wait(number, lambda job: job.state == "FAILED")
    assert (job.nodes, job.restarts, job.status) == ("alpha,beta", 0, 3), job
    assert sorted((cluster.shared / f"{number}.out").read_text().split()) == ["alpha", "beta"]
    scheduler.submit("--output=/dev/null", "--wrap", "sleep 99")
    print("up", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster():
    with hosts.up(3, slots=2) as started:
        yield started


@pytest.fixture(scope="module")
def scheduler(cluster):
    with slurm.up(cluster) as started:
        yield started


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
@pytest.mark.parametrize("kill", [False, True], ids=["the usual end", "a kill"])
def test_it_works_for_this_user_and_leaves_nothing(user, kill, leftovers):
    before = machine()
    pipe = subprocess.PIPE
    with subprocess.Popen(
        user([sys.executable, "-c", WORKS]), stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT, process_group=0
    ) as owner:
        wait_until_up(owner, 1)
        if kill:
            os.killpg(owner.pid, signal.SIGKILL)
        _, errors = owner.communicate()
    assert kill or owner.returncode == 0, errors.decode()
    assert leftovers() == []
    assert machine() == before


def test_all_of_it_ends_with_the_context():
    with hosts.up(1, slots=1) as cluster:
        with slurm.up(cluster) as scheduler:
            number = scheduler.submit("--output=/dev/null", "--wrap", "sleep 99")
            scheduler.wait(number, lambda job: job.state == "RUNNING")
        assert cluster.processes() == {"head": [], "node1": []}


def test_a_job_leaves_the_node_that_is_drained(scheduler):
    number = scheduler.submit("--requeue", "--output=/dev/null", "--wrap", "sleep 99")
    node = scheduler.wait(number, lambda job: job.state == "RUNNING").nodes
    scheduler.ask("scontrol", "update", f"NodeName={node}", "State=drain", "Reason=test")
    assert scheduler.states()[node] == "draining"
    scheduler.ask("scontrol", "requeue", str(number))
    scheduler.start_now(number)
    job = scheduler.wait(number, lambda job: job.state == "RUNNING" and job.restarts == 1)
    assert job.nodes != node and scheduler.states()[node] == "drained"
    scheduler.ask("scancel", str(number))
    scheduler.ask("scontrol", "update", f"NodeName={node}", "State=resume")
    scheduler.wait_until_idle(scheduler.cluster.hosts)


def test_a_job_leaves_the_node_that_is_lost_and_the_node_comes_back(cluster, scheduler):
    number = scheduler.submit("--requeue", "--nodes=2", "--output=/dev/null", "--wrap", "sleep 99")
    scheduler.wait(number, lambda job: job.state == "RUNNING")
    cluster.kill("node2")
    job = scheduler.wait(number, lambda job: job.restarts == 1)
    assert scheduler.states()["node2"] == "down*"
    scheduler.start_now(number)
    job = scheduler.wait(number, lambda job: job.state == "RUNNING")
    assert job.nodes == "node[1,3]"
    cluster.revive("node2")
    scheduler.start("node2")
    scheduler.wait_until_idle(["node2"])
    scheduler.ask("scancel", str(number))
    scheduler.wait_until_idle(scheduler.cluster.hosts)


def test_what_a_job_leaves_behind_is_ended(cluster, scheduler):
    escapes = "setsid sleep 98 > /dev/null 2>&1 & echo $! > /shared/left; while ! [ -d /proc/$! ]; do :; done"
    number = scheduler.submit("--output=/dev/null", "--wrap", escapes)
    node = scheduler.wait(number, lambda job: job.state == "COMPLETED").nodes
    process = (cluster.shared / "left").read_text().strip()
    scheduler.wait_until_idle(scheduler.cluster.hosts)
    assert says(cluster, f"ls -d /proc/{process} 2> /dev/null || echo none", node) == "none\n"


def test_what_slurm_refuses_is_said(scheduler):
    with pytest.raises(hosts.HostsError, match=r"sbatch fails: .*invalid partition specified: none"):
        scheduler.submit("--partition=none", "--wrap", "true")
    number = scheduler.submit("--nodes=9", "--wrap", "true")
    with pytest.raises(hosts.HostsError, match=f"Job {number} is PENDING after 0 s"):
        scheduler.wait(number, lambda job: job.state == "RUNNING", timeout=0)
    scheduler.ask("scancel", str(number))


def test_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(slurm, "DAEMONS", ("no-munged", *slurm.DAEMONS[1:]))
    line = "Slurm is not installed: there is no no-munged. Install it: apt-get install slurm-wlm munge"
    assert slurm.missing() == line
    with hosts.up(1, slots=1) as cluster, pytest.raises(hosts.HostsError) as error, slurm.up(cluster):
        pass
    assert str(error.value) == line
