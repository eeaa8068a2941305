#!/usr/bin/env python3
# Slurm reads "#SBATCH" only. Formatters would write a space after the "#", which the next line prevents.
# fmt: off
#SBATCH --job-name=train
# All runs of the job append to one file, which has the job's number in its name.
#SBATCH --output=%x-%j.out
#SBATCH --open-mode=append
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
# Two minutes before the time limit, Slurm sends SIGUSR1 to this script alone.
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --partition=long
# If a node is lost, Slurm puts the job back into the queue.
#SBATCH --requeue
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
from pathlib import Path

training = None  # the process of mpirun
asked_to_end = False  # True after SIGUSR1


def on_each_node(*command):
    """Run a command once per node, and not once per task. End this script if it fails on a node."""
    nodes = os.environ["SLURM_NNODES"]
    subprocess.run(["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", *command], check=True)


def ask_to_end(*_):
    """Handle SIGUSR1: ask the ranks to save a checkpoint and end."""
    global asked_to_end
    asked_to_end = True
    if training:
        training.send_signal(signal.SIGUSR1)  # mpirun passes the signal on to the ranks


def stage(copy):
    """Give each node a copy of DATA, and the job its own folder for checkpoints. Set both variables."""
    on_each_node("sh", "-c", 'rm -rf "$2" && cp -r "$1" "$2"', "stage", os.environ["DATA"], copy)
    os.environ["DATA"] = copy
    # A requeued job keeps its number, so each of its runs finds the same folder.
    os.environ["CHECKPOINTS"] += f"/{os.environ['SLURM_JOB_ID']}"
    Path(os.environ["CHECKPOINTS"]).mkdir(parents=True, exist_ok=True)


def start(program):
    """Start one rank per task in the background, and return the process of mpirun."""
    # mpirun asks Slurm for the nodes, and for the number of tasks on each. Slurm sends all variables to the ranks.
    # Without --bind-to none, mpirun confines a rank and all of its threads to one core, or to a part of the node.
    options = ["--map-by", "slot", "--bind-to", "none", "--mca", "btl_tcp_if_include", os.environ["DATA_NETWORK"]]
    return subprocess.Popen(["mpirun", *options, "-x", "DATA", "-x", "CHECKPOINTS", *program])


def watch():
    """Return when the training has ended."""
    training.wait()  # continues to wait after a signal was handled


def finish(copy):
    """Remove the copies, and end the job: with the status of the training, or by a requeue if it was asked to end."""
    status = training.wait()
    # If a node is lost, this srun waits until Slurm knows that, and requeues the job.
    on_each_node("rm", "-rf", copy)
    # The ranks have saved a checkpoint. The next run resumes from it.
    if asked_to_end and status == 0:
        subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]], check=True)
    sys.exit(status if status >= 0 else 1)


if missing := [name for name in ("DATA", "CHECKPOINTS", "DATA_NETWORK") if not os.environ.get(name)]:
    sys.exit(f"job.py: set the variable {missing[0]}; the first lines of this file say what it is for")
signal.signal(signal.SIGUSR1, ask_to_end)
copy_of_data = f"/scratch/{os.environ['SLURM_JOB_ID']}"  # where each node gets its copy of DATA
stage(copy_of_data)
training = start(sys.argv[1:])
watch()
finish(copy_of_data)
