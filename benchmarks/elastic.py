"""Kill a host at a random point of an elastic training, many times, and count how the trainings end."""

import random
import re
import subprocess
import threading
import time

from course import hosts
from course.steps import SOLUTIONS

RUNS = 20
PROGRAM = f"{SOLUTIONS}/hosts/fashion_mnist_elastic.py"
LAUNCH = (
    "horovodrun --gloo -np 1 --max-np 2 --network-interfaces eth0 "
    f"--host-discovery-script {SOLUTIONS}/hosts/discover.sh python {PROGRAM} --epochs 12 --log-dir /shared/logs"
)
LATEST = 25  # seconds after the start; a run that no one disturbs takes about as long
PATIENCE = 240  # seconds after which a run counts as one that hangs


def measure() -> dict[str, object]:
    """Return how many runs trained to the end, named the host, did neither, and hung, and how long the longest took.

    In every other run, the host is not killed but loses its cable to the data network.
    """
    chance = random.Random(0)
    counts = {"runs": RUNS, "trained": 0, "named": 0, "neither": 0, "hung": 0}
    longest = 0.0
    for number in range(RUNS):
        host, after = chance.choice(["node1", "node2"]), chance.uniform(0, LATEST)
        began = time.monotonic()
        ended, output = _disturbed(host, after, "pull_cable" if number % 2 else "kill")
        longest = max(longest, time.monotonic() - began)
        counts[ended] += 1
        print(f"{number + 1}/{RUNS}: {host} after {after:.1f} s: {ended}", flush=True)
        if ended in ("neither", "hung"):
            print(output)
    return {**counts, "longest_seconds": round(longest, 1)}


def _disturbed(host: str, after: float, fault: str) -> tuple[str, str]:
    """Train, let a fault happen to a host after so many seconds, and return how the training ended, and its output."""
    with hosts.up(2, slots=1) as cluster:
        timer = threading.Timer(after, getattr(cluster, fault), [host])
        timer.start()
        try:
            variables = {"SSH_OPTIONS": "-o ServerAliveInterval=2"}
            done = cluster.run(LAUNCH.split(), say=lambda line: None, timeout=PATIENCE, variables=variables)
        except subprocess.TimeoutExpired as error:
            return "hung", str(error.output)
        finally:
            timer.cancel()
        if done.returncode == 0 and (cluster.shared / "logs" / "model.keras").is_file():
            return "trained", done.stdout
        return ("named" if re.search(rf"{host}\b", done.stdout) else "neither"), done.stdout
