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
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

COPY = "/scratch/data"  # where each host gets its copy of DATA


def stage(hosts):
    """Copy DATA to the folder COPY of each host. End this script if one of them has no copy."""
    # TODO: Step 18: copy DATA to each host's own disk, and end the script if a host has no copy


def start(hostfile, program):
    """Start one rank per slot in the background, and return the process of mpirun."""
    # TODO: Step 18: start one rank per slot on each host, over the data network, with the variables that ranks need
    return subprocess.Popen(["mpirun", *program], stdin=subprocess.DEVNULL)


def watch(job, hosts):
    """Return when mpirun has ended. If a host is lost before, end the ranks on the others, and return its name."""
    # TODO: Step 18: ask each host whether it answers; if one does not, end the other ranks, and return its name
    return None


def finish(job, lost):
    """End this script with the status of the training, or with the name of the lost host."""
    # TODO: Step 18: end with the status of the training, or print the name of the lost host
    job.wait()


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
