"""Start a program as two workers, kill one in the third epoch, and start both again, as our job manager does.

python restart.py PROGRAM
"""

import sys

from course.cluster import Cluster
from course.launch import RunError

with Cluster(worker=2) as workers:
    for attempt in (1, 2):
        tasks = [
            workers.start("worker", index, sys.argv[1], epochs=5, train_samples=2400, save_freq=5, log_dir="logs")
            for index in (0, 1)
        ]
        try:
            if attempt == 1:
                workers.await_line(tasks[0], lambda line: line.startswith("Epoch 3/"))
                workers.kill(tasks[1])
            workers.wait(timeout=90)
        except RunError as error:
            print(error.reason)
            failed = attempt
sys.exit(failed == 2)
