"""A parameter server: it holds the weights, and adds each gradient that a worker sends.

python server.py --listen HOST:PORT --workers N
"""

import argparse
import json
import socket
import threading

import numpy as np

parser = argparse.ArgumentParser(description="Hold the weights for some workers.")
parser.add_argument("--listen", required=True, help="HOST:PORT, the address of an interface of this host")
parser.add_argument("--workers", type=int, required=True)
args = parser.parse_args()
weights, updates, lock, hosts = np.zeros(4), [0], threading.Lock(), []


def serve(connection):
    """Answer each gradient of a worker with the new weights, until the worker has no more."""
    with connection, connection.makefile("rw") as file:
        hosts.append(file.readline().strip())
        for line in file:
            with lock:
                weights[:] -= 0.1 * np.array(json.loads(line))
                updates[0] += 1
                file.write(json.dumps(weights.tolist()) + "\n")
            file.flush()


host, _, port = args.listen.rpartition(":")
with socket.create_server((host, int(port))) as listening:
    print(f"server: listening on {args.listen}", flush=True)
    threads = [threading.Thread(target=serve, args=[listening.accept()[0]]) for _ in range(args.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(json.dumps({"updates": updates[0], "workers": sorted(hosts)}), flush=True)
