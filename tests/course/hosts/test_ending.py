"""How hosts start and end: with their owner, whatever kills it, as root and as an ordinary user, leaving nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from course import hosts
from course.steps import ROOT
from tests.conftest import wait_until_up
from tests.course.hosts.ordinary import as_ordinary_user
from tests.course.hosts.test_hosts import says

# Starts hosts, with a process that has left its session on each, and waits.
OWNER = """
import os, sys
from course import hosts
with hosts.up(2) as cluster:
    for host in ("node1", "node2"):
        far = cluster.start(["sh", "-c", "echo > /shared/$(hostname); setsid sleep 99 & echo up; sleep 99"], host)
        print(far.output.readline().decode(), end="", flush=True)
    print(os.getpid(), cluster._keeper.pid, file=sys.stderr, flush=True)
    sys.stdin.read()
"""

# What is to work for any user: prints "up" at the end.
WORKS = """
import os
from course import hosts
with hosts.up(2, slots=1) as cluster:
    def says(*command, on="head"):
        return cluster.run(command, on, say=lambda line: None).stdout
    assert says("id", "-u") == f"{os.getuid()}\\n", says("id", "-u")
    name = ["python", "-c", "import platform; print(platform.node())"]
    ranks = says("mpirun", "-np", "2", "--hostfile", "/cluster/hostfile", *name)
    assert sorted(line for line in ranks.splitlines() if line in cluster.hosts) == ["node1", "node2"], ranks
    assert says("ssh", "node2", "hostname", on="node1") == "node2\\n", "ssh"
    says("touch", "/scratch/file", "/shared/file", on="node1")
    assert (cluster.scratch("node1") / "file").exists() and (cluster.shared / "file").exists(), "files"
    sleeping = cluster.start(["python", "-c", "import time; print('up', flush=True); time.sleep(99)"], "node1")
    sleeping.output.readline()
    assert {host: len(found) for host, found in cluster.processes().items()} == {"head": 0, "node1": 1, "node2": 0}
    cluster.slow("node2", "1mbit")
    cluster.fill_disk("node2")
    cluster.pull_cable("node2")
    cluster.kill("node1")
    cluster.revive("node1")
    cluster.revive("node2")
    assert says("ssh", "node2", "hostname", on="node1") == "node2\\n", "revive"
print("up")
"""

USERS = {"as they are": list, "an ordinary user": lambda command: as_ordinary_user(*command)}


@pytest.fixture(params=USERS.values(), ids=USERS)
def started(request, leftovers):
    """Start a Python program, as the user of the tests or as an ordinary one."""
    processes = []

    def start(text):
        pipe = subprocess.PIPE
        command = request.param([sys.executable, "-c", text])
        processes.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT, process_group=0))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def machine():
    """Return what hosts must not change on the machine: interfaces, mounts, folders, temporary files."""
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    homes = {path.name for path in Path(os.environ["TMPDIR"]).iterdir() if not path.name.startswith("tmp")}
    return set(psutil.net_if_addrs()), mounts, {path.name for path in Path("/").iterdir()}, homes


def test_hosts_work_for_this_user(started):
    output, errors = started(WORKS).communicate()
    assert output.decode() == "up\n", errors.decode()


@pytest.mark.parametrize("killed", ["owner", "keeper", "all of the owner's group"])
def test_nothing_is_left_after_a_kill(started, leftovers, killed):
    before = machine()
    owner = started(OWNER)
    wait_until_up(owner, 2)
    processes = dict(zip(("owner", "keeper"), map(int, owner.stderr.readline().split()), strict=True))
    during = machine()
    assert during[:3] == before[:3]  # nothing of it shows outside while it is there, either
    if killed in processes:
        os.kill(processes[killed], signal.SIGKILL)
    else:
        os.killpg(owner.pid, signal.SIGKILL)
    if killed == "keeper":
        owner.stdin.close()
        owner.wait()
    assert leftovers() == []
    assert machine() == before


def test_nothing_is_left_after_the_usual_end(started, leftovers):
    before = machine()
    owner = started(OWNER)
    wait_until_up(owner, 2)
    owner.communicate()
    assert owner.returncode == 0 and leftovers() == [] and machine() == before


def test_an_owner_learns_that_its_keeper_was_killed(leftovers):
    with hosts.up(1) as cluster:
        cluster._keeper.kill()
        with pytest.raises(hosts.HostsError, match="The hosts have ended"):
            cluster.kill("node1")
    assert leftovers() == []


def test_two_clusters_do_not_disturb_each_other():
    with hosts.up(1) as one, hosts.up(1) as other:
        says(one, "echo one > /shared/file; echo one > /scratch/file", "node1")
        assert says(other, "ls /shared /scratch; ssh node1 hostname", "head") == "/scratch:\n\n/shared:\nnode1\n"
        one.kill("node1")
        assert says(other, "ssh node1 hostname") == "node1\n"
        assert list(one.processes()) == ["head"] and list(other.processes()) == ["head", "node1"]


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(leftovers):
    with hosts.up(1) as cluster:
        with pytest.raises(subprocess.TimeoutExpired) as error:
            cluster.run(["sh", "-c", "echo up; setsid sleep 99 & sleep 99"], say=lambda line: None, timeout=1)
        assert error.value.output == "up\n"
    assert leftovers() == []


def command_line(*arguments):
    return [sys.executable, "-m", "course", "hosts", *arguments]


def test_the_command_line_passes_on_output_and_exit_status(leftovers):
    words = ["--hosts", "1", "--slots", "3", "--", "sh", "-c", "hostname; cat /cluster/hostfile; exit 7"]
    done = subprocess.run(command_line(*words), capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (7, "head\nnode1 slots=3\n", "")
    assert leftovers() == []


def test_the_command_line_ends_with_all_hosts_when_it_is_killed(leftovers):
    command = command_line("--hosts", "1", "--", "sh", "-c", "ssh node1 sleep 99 & echo up; sleep 99")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        wait_until_up(process, 1)
        process.kill()
    assert leftovers() == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--rate", "fast", "--", "true"], "'fast' is not a rate. Write it like 10gbit, 100mbit or 500kbit.\n"),
        (["--", "no-such-program"], "env: 'no-such-program': No such file or directory\n"),
    ],
)
def test_the_command_line_explains_itself_in_one_line(words, line):
    done = subprocess.run(
        command_line(*words), capture_output=True, text=True, cwd=ROOT, env=os.environ | {"LC_ALL": "C"}
    )
    assert done.returncode and done.stderr == line


def test_one_line_says_that_namespaces_are_forbidden():
    """A user namespace in which there can be no other, and whose user is an ordinary one, stands for such a kernel."""
    from grader.sandbox import policy

    forbids = [policy.bwrap(), "--unshare-user", "--uid", "12345", "--disable-userns", "--dev-bind", "/", "/", "--"]
    shown = [*forbids, sys.executable, "-c", "from course import hosts; print(hosts.forbidden())"]
    done = subprocess.run(shown, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.count("\n") == 1 and done.stdout.startswith(
        "No hosts can be made here (unshare: namespaces are limited to 0). They need user namespaces"
    ), done


def test_where_hosts_can_be_made_nothing_forbids_them():
    assert hosts.forbidden() is None


def test_one_line_says_that_nsenter_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert hosts.forbidden() == "No hosts can be made here: nsenter is missing. Install it: apt-get install util-linux"
