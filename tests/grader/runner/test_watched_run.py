"""A launch script is hostile code: what it can see, do and leave behind in the sandbox that its hosts are made in."""

import os
import re
import socket
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from course.steps import ROOT
from grader.checks.launch_script import UNEVEN
from grader.checks.scheduled import STEADY
from grader.runner import synthetic_data, watched_run
from grader.terms.watched_facts import JobFacts, LaunchFacts

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        synthetic_data.make(Path(folder) / "data")
        yield Path(folder) / "data"


def run(script, data, seconds=60):
    """Run a launch script on two hosts, zoe and adam, and return the result."""
    return watched_run.run(script, "launch.sh", [UNEVEN], seconds, data, True).clusters["uneven"][0]


def facts(script, data):
    """Run a launch script, and return what was seen of it."""
    return msgspec.msgpack.decode(run(script, data).facts, type=LaunchFacts)


def test_a_job_that_ends_the_scheduler_gets_no_verdict(data, leftovers):
    with pytest.raises(watched_run.WatchError, match="Unable to contact slurm controller"):
        watched_run.run("#!/bin/bash\nscontrol shutdown\nsleep 60\n", "job.sbatch", [STEADY], 60, data, True)
    assert leftovers() == []


ODD = """#!/bin/bash
mkdir -p "$CHECKPOINTS" "$3"/ready-0-9
cd "$CHECKPOINTS"
echo other > checkpoint-$'\\xff'
for number in {1..5000}; do echo other > "checkpoint-$(printf %0150d $number)"; done
mpirun "$@" $'\\xff'
"""


def test_what_a_job_makes_of_odd_names_and_texts_is_no_trouble(data):
    (found,) = watched_run.run(ODD, "job.sbatch", [STEADY], 60, data, True).clusters["steady"]
    rank = msgspec.msgpack.decode(found.facts, type=JobFacts).first.ranks[0]
    assert rank.arguments[-1] == "?" and len(rank.found) == 100


def test_a_script_that_outlasts_its_time_is_late(data, monkeypatch, leftovers):
    monkeypatch.setattr(watched_run, "STARVED", 1000)  # the cores were its own
    with pytest.raises(watched_run.LateError, match="did not end within"):
        run("sleep 60", data, seconds=2)
    assert leftovers() == []


def test_a_script_that_other_programs_kept_from_the_cores_is_not_late(data, monkeypatch, leftovers):
    monkeypatch.setattr(watched_run, "STARVED", -1)  # as after a long time on a busy machine
    with pytest.raises(watched_run.WatchError, match="too busy"):
        run("sleep 60", data, seconds=2)
    assert leftovers() == []


def lines(script, data):
    return run(script, data).stdout.splitlines()


def test_a_script_cannot_change_what_later_ranks_load(data):
    said = lines('for file in "$0" "${0%/*}/course.py"; do (echo >> "$file") 2>&1 || true; done', data)
    assert len(said) == 2 and all(re.search("Permission denied|Read-only file system", line) for line in said), said


@pytest.mark.parametrize("path", ["tests", "solutions/hosts/launch.sh", "grader/checks", "grader/runner", "notebooks"])
def test_no_check_no_solution_and_no_submission_can_be_read(path, data):
    assert (ROOT / path).exists()
    assert lines(f"ls {ROOT / path} > /dev/null 2>&1 && echo read || echo none", data) == ["none"]


def test_a_script_has_a_user_with_a_name_and_a_repository_with_a_commit(data):
    assert lines("whoami; git log --format=%an", data) == ["learner", "learner"]


def test_nothing_of_the_machine_can_be_seen(data, leftovers):
    said = lines("cut -d: -f1 /etc/passwd; ls -d /home /var /opt /etc/shadow 2> /dev/null; ls -A /tmp", data)
    assert said[0] == "learner"
    # The judge's folders, with matplotlib's list of fonts; the course itself may be in /tmp.
    own = "course-", "grader-watched-", "tmp", ".cache", ".git", *ROOT.parts[2:3]
    assert all(name.startswith(own) for name in said[1:])
    processes = lines("for host in zoe adam; do ssh $host 'cat /proc/[0-9]*/comm'; done", data)
    assert "pytest" not in processes and len(processes) < 30
    assert leftovers() == []


def test_no_program_of_the_machine_can_be_reached(data):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        said = lines(f"(: < /dev/tcp/127.0.0.1/{port}) 2> /dev/null && echo reached || echo not", data)
    assert said == ["not"]


def test_a_script_has_no_rights_over_its_hosts(data):
    tries = ["unshare -U true", "mount -t tmpfs none /tmp", "nsenter -t 1 -n true", "hostname other", "touch /usr/file"]
    script = "\n".join(f"{command} 2> /dev/null && echo '{command}'" for command in tries)
    assert lines(f"{script}\nssh zoe unshare -U true 2> /dev/null && echo there\necho end", data) == ["end"]


def test_what_a_script_leaves_on_hosts_ends_with_them(data, leftovers):
    found = facts("for h in zoe adam; do ssh $h 'setsid sleep 1000 > /dev/null 2>&1 < /dev/null &'; done", data)
    assert found.running == ["adam", "zoe"]
    assert leftovers() == []


def test_a_flood_ends_the_script(data):
    assert run("yes", data).ended_for == "output"


def test_too_much_memory_ends_the_script(data, monkeypatch, leftovers):
    monkeypatch.setattr(watched_run, "MEMORY", 600 * 2**20)
    with pytest.raises(watched_run.LateError, match="too much memory"):
        run("python -c 'block = bytearray(700 * 2**20); input()' < <(sleep 100)", data)
    assert leftovers() == []


def test_no_memory_is_taken_that_is_not_counted(data):
    code = "import ctypes, os; print(ctypes.CDLL(None).shmget(0, 4096, 0o1600)); os.memfd_create('x')"
    said = lines(f'ssh zoe "{sys.executable} -S -c \\"{code}\\"" 2>&1', data)
    assert "-1" in said and any("PermissionError" in line for line in said), said


def test_files_in_memory_are_limited(data):
    fill = "for i in {1..40}; do head -c 60M /dev/zero > $1/$i || break; done 2> /dev/null; rm -f $1/[0-9]*; echo $1 $i"
    said = lines(f"fill() {{ {fill}; }}; fill /shared; fill /tmp; fill /dev/shm; fill /scratch", data)
    assert [line.split()[0] for line in said] == ["/shared", "/tmp", "/dev/shm", "/scratch"]
    assert all(int(line.split()[1]) < 12 for line in said)


def test_a_crowd_of_false_ranks_is_no_trouble(data):
    rank = ROOT / "grader" / "watchers" / "mpi_rank.py"
    fake = f"import time; time.sleep(5)  # {'x' * 1000}"
    crowd = f"for i in {{1..150}}; do exec -a python python -S -c '{fake}' {rank} & done; wait"
    assert facts(crowd, data).first.ranks == []  # they are no such program
    crowd = f"for i in {{1..150}}; do (exec -a x sh -c 'sleep 5 #{'x' * 1000}' {rank}) & done; wait"
    assert len(facts(crowd, data).first.ranks) <= 100


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_hosts_belong_to_a_user_of_their_own(data):
    assert int(lines("id -u", data)[0]) >= 2**20
