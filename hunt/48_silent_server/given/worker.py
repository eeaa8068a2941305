"""A worker: it sends gradients to the parameter server, and gets the weights.

python worker.py --server HOST:PORT
"""

import argparse
import json
import platform
import socket
import time

import numpy as np

STEPS = 10
parser = argparse.ArgumentParser(description="Train with a parameter server.")
parser.add_argument("--server", required=True, help="HOST:PORT")
args = parser.parse_args()
host, _, port = args.server.rpartition(":")


def connect():
    """Return a connection to the server, which may start later than this worker."""
    waited = 0
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=5)
        except OSError:
            if waited % 5 == 0:
                print(f"worker on {platform.node()}: waiting for the server {args.server}", flush=True)
            time.sleep(1)
            waited += 1


with connect() as connection, connection.makefile("rw") as file:
    file.write(platform.node() + "\n")
    weights = np.zeros(4)
    for _ in range(STEPS):
        file.write(json.dumps((weights - 1).tolist()) + "\n")
        file.flush()
        weights = np.array(json.loads(file.readline()))
print(f"worker on {platform.node()}: done after {STEPS} steps", flush=True)
