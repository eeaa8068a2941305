"""Start a program as two workers, kill one in the third epoch, and start both again, as our job manager does.

python restart.py PROGRAM
"""

import sys

from course.cluster import Cluster
from course.launch import RunError

FLAGS = {"epochs": 5, "train_samples": 2400, "save_freq": 5, "log_dir": "logs"}


def start(workers: Cluster) -> list:
    """Start both workers."""
    return [workers.start("worker", index, sys.argv[1], **FLAGS) for index in (0, 1)]


with Cluster(worker=2) as workers:
    first, second = start(workers)
    workers.await_line(first, lambda line: line.startswith("Epoch 3/"))
    workers.kill(second)
    try:
        workers.wait()
    except RunError as error:
        print(error.reason)
    start(workers)
    try:
        workers.wait(timeout=90)
    except RunError as error:
        sys.exit(error.reason)
