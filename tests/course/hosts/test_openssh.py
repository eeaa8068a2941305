"""OpenSSH in the place of the stand-in: its server on each host, with keys, and horovodrun over it."""

import shutil
import subprocess
import sys

import pytest

from course.steps import ROOT
from tests.course.hosts.ordinary import as_ordinary_user
from tests.course.hosts.test_hosts import WHERE

SSH = shutil.which("ssh")
SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")

# Runs as an ordinary user, in an empty home; sys.argv has the programs, and the one that each rank runs.
PROGRAM = """
import os, subprocess, sys
from pathlib import Path
from course import hosts

ssh, sshd, where = sys.argv[1:]
home = Path(os.environ["HOME"])
for name in ("user", "server"):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / name], check=True)
config = ["Port 2222", f"HostKey {home}/server", f"AuthorizedKeysFile {home}/user.pub", "PidFile none"]
config += ["StrictModes no", "UsePAM no", "PasswordAuthentication no"]
(home / "sshd_config").write_text("\\n".join(config))
config = ["Port 2222", f"IdentityFile {home}/user", f"UserKnownHostsFile {home}/known", "LogLevel ERROR"]
(home / "ssh_config").write_text("\\n".join([*config, "StrictHostKeyChecking accept-new"]))
(home / "ssh").write_text(f'#!/bin/sh\\nexec {ssh} -F {home}/ssh_config "$@"\\n')
(home / "ssh").chmod(0o755)
(home / "where.py").write_text(where)

with hosts.up(2) as cluster:
    for host in cluster.hosts:
        server = cluster.start([sshd, "-D", "-e", "-f", str(home / "sshd_config")], host)
        line = server.output.readline()
        while b"listening" not in line:
            assert line, "sshd has ended"
            line = server.output.readline()
    real = {"PATH": f"{home}:{cluster.variables['PATH']}"}
    cluster.run(["ssh", "node1", "echo $SSH_CONNECTION; hostname"], variables=real)
    ranks = ["horovodrun", "--gloo", "-np", "2", "-H", "node1:1,node2:1", "python", f"{home}/where.py"]
    cluster.run(ranks, variables=real)
"""


@pytest.mark.slow
@pytest.mark.skipif(not SSH or not SSHD, reason="needs OpenSSH: apt-get install openssh-server openssh-client")
def test_horovodrun_starts_ranks_over_openssh(leftovers):
    command = as_ordinary_user(sys.executable, "-c", PROGRAM, SSH, SSHD, WHERE)
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    client, server, port = done.stdout.split()[0], *done.stdout.split()[2:4]
    assert (client, server, port) == ("10.77.0.254", "10.77.0.1", "2222"), done
    found = sorted(line.partition("at ")[2] for line in done.stdout.splitlines() if "at " in line)
    assert found == ["0 node1 0 0 2", "1 node2 0 1 2"], done
    assert leftovers() == []
