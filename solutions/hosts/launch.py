#!/usr/bin/env python3
"""Train on all hosts of a cluster. This is launch.sh in Python:

    python launch.py HOSTFILE PROGRAM [ARGUMENT ...]

HOSTFILE has a line per host: `node1 slots=2` stands for two ranks on node1. Environment variables say the rest:

    DATA          the folder with the training data, which all hosts see. Each host reads a copy on its own disk.
    DATA_NETWORK  the network over which the ranks exchange tensors, such as 10.77.0.0/24
    RUN, SEED     for the program

The exit status is 0 if all ranks end with 0. If a host no longer answers, the script prints its name and ends the ranks
on the other hosts.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COPY = "/scratch/data"  # where each host gets its copy of DATA


def stage(hosts):
    """Copy DATA to the folder COPY of each host. End this script if one of them has no copy."""
    data, copy = shlex.quote(os.environ["DATA"]), shlex.quote(COPY)
    command = f"mkdir -p {copy} && cp -r {data}/. {copy}"
    copying = {host: subprocess.Popen(["ssh", host, command], stdin=subprocess.DEVNULL) for host in hosts}
    without = [host for host, process in copying.items() if process.wait() != 0]
    if without:
        fail(f"{without[0]} has no copy of {os.environ['DATA']}")


def start(hostfile, program):
    """Start one rank per slot in the background, and return the process of mpirun."""
    # A rank has its own host's environment: -x passes a variable on. mpirun warns of one that is not set.
    names = [name for name in os.environ if name.startswith(("HOROVOD_", "NCCL_")) or name == "LD_LIBRARY_PATH"]
    variables = [word for name in ("PATH", "RUN", "SEED", f"DATA={COPY}", *names) for word in ("-x", name)]
    # Without --bind-to none, mpirun confines a rank and all of its threads to one core, or to a part of the host.
    options = ["--hostfile", hostfile, "--map-by", "slot", "--bind-to", "none"]
    options += ["--mca", "btl_tcp_if_include", os.environ["DATA_NETWORK"]]
    return subprocess.Popen(["mpirun", *options, *variables, *program], stdin=subprocess.DEVNULL)


def watch(job, hosts):
    """Return when mpirun has ended. If a host is lost before, end the ranks on the others, and return its name."""
    # A rank waits for a lost peer, and so does mpirun. So ask each host, once per second, whether it answers.
    while job.poll() is None:
        time.sleep(1)
        for host in hosts:
            if not answers(host):
                # Without mpirun and its connections, the daemons on the other hosts end their ranks.
                job.send_signal(signal.SIGSTOP)  # otherwise it reports each connection that ends
                subprocess.run(["pkill", "-KILL", "-P", str(job.pid)], check=False)
                job.kill()
                return host
    return None


def answers(host):
    """Return whether a host answers within 5 s."""
    try:
        done = subprocess.run(["ssh", host, "true"], stdin=subprocess.DEVNULL, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def finish(job, lost):
    """End this script with the status of the training, or with the name of the lost host."""
    status = job.wait()
    if lost:
        fail(f"{lost} does not answer, so the training was stopped")
    sys.exit(status if status >= 0 else 1)


def fail(message):
    """Print a message, and end this script with status 1."""
    sys.exit(f"launch.py: {message}")


def main():
    """Check what is given, and train."""
    if len(sys.argv) < 3:
        fail("give it a hostfile and a program: python launch.py HOSTFILE PROGRAM [ARGUMENT ...]")
    for name in ("DATA", "DATA_NETWORK", "RUN", "SEED"):
        if name not in os.environ:
            fail(f"set the variable {name}; the first lines of this file say what it is for")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a scheduler's signal cleans up, too
    job, work = None, tempfile.mkdtemp()
    try:
        # mpirun does not accept every comment in a hostfile, so it gets a copy without comments.
        lines = [line.partition("#")[0].strip() for line in Path(sys.argv[1]).read_text().splitlines()]
        hostfile = Path(work, "hostfile")
        hostfile.write_text("".join(f"{line}\n" for line in lines if line))
        hosts = [line.split()[0] for line in lines if line]
        stage(hosts)
        job = start(str(hostfile), sys.argv[2:])
        finish(job, watch(job, hosts))
    finally:
        if job and job.poll() is None:
            job.terminate()
        shutil.rmtree(work)


main()
