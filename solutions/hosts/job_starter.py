#!/usr/bin/env python3
# Slurm reads "#SBATCH" only. Formatters would write a space after the "#", which the next line prevents.
# fmt: off
#SBATCH --job-name=train
# TODO: Step 19: one file for the output of all runs of the job, with the job's number in its name
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
# TODO: Step 19: a time limit of one hour, and SIGUSR1 to this script two minutes before it
#SBATCH --partition=long
# TODO: Step 19: have Slurm requeue the job if a node is lost
# fmt: on
"""Train as a Slurm job, with a rank per task, and resume after an interruption. This is job.sbatch in Python:

    sbatch [--nodes=N] [--ntasks-per-node=N] job.py PROGRAM [ARGUMENT ...]

These environment variables say the rest:

    DATA          the folder with the training data, which all nodes see
    CHECKPOINTS   a folder for checkpoints, which all nodes see
    DATA_NETWORK  the network over which the ranks exchange tensors, such as 10.77.0.0/24

PROGRAM reads the data in the folder DATA, and resumes from the newest checkpoint in the folder CHECKPOINTS. On the
signal SIGUSR1, it saves a checkpoint and ends with status 0. Slurm reads the lines #SBATCH up to the first line that is
no comment, so they stand above this text.
"""

import os
import signal
import subprocess
import sys

training = None  # the process of mpirun
asked_to_end = False  # True after SIGUSR1


def on_each_node(*command):
    """Run a command once per node, and not once per task. End this script if it fails on a node."""
    nodes = os.environ["SLURM_NNODES"]
    subprocess.run(["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", *command], check=True)


def ask_to_end(*_):
    """Handle SIGUSR1: ask the ranks to save a checkpoint and end."""
    # TODO: Step 19: pass SIGUSR1 on to the ranks


def stage(copy):
    """Give each node a copy of DATA, and the job its own folder for checkpoints. Set both variables."""
    # TODO: Step 19: copy DATA to each node's own disk; make a folder for the checkpoints of all runs of this job


def start(program):
    """Start one rank per task in the background, and return the process of mpirun."""
    # TODO: Step 19: start one rank per task, on all nodes, over DATA_NETWORK
    return subprocess.Popen(program)


def watch():
    """Return when the training has ended."""
    # TODO: Step 19: wait until the training has ended, also if a signal comes


def finish(copy):
    """Remove the copies, and end the job: with the status of the training, or by a requeue if it was asked to end."""
    # TODO: Step 19: remove the copies; requeue the job if it was asked to end, or end with the status of the training
    training.wait()


if missing := [name for name in ("DATA", "CHECKPOINTS", "DATA_NETWORK") if not os.environ.get(name)]:
    sys.exit(f"job.py: set the variable {missing[0]}; the first lines of this file say what it is for")
signal.signal(signal.SIGUSR1, ask_to_end)
copy_of_data = f"/scratch/{os.environ['SLURM_JOB_ID']}"  # where each node gets its copy of DATA
stage(copy_of_data)
training = start(sys.argv[1:])
watch()
finish(copy_of_data)
