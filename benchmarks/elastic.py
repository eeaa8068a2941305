"""Kill a host at a random point of an elastic training, many times, and count how the trainings end."""

import json
import random
import re
import subprocess
import threading
import time
from pathlib import Path

from course import hosts
from course.steps import SOLUTIONS

RUNS = 20
PROGRAM = f"{SOLUTIONS}/hosts/fashion_mnist_elastic.py"
LAUNCH = (
    f"bash {SOLUTIONS}/hosts/launch_elastic.sh /cluster/hostfile -np 1 --max-np 2 --network-interfaces eth0 "
    f"python {PROGRAM} --epochs 12 --log-dir /shared/logs"
)
LATEST = 25  # seconds after the start; a run that no one disturbs takes about as long
PATIENCE = 240  # seconds after which a run counts as one that hangs
SO_FAR = Path(__file__).parent / "turns" / "elastic.jsonl"  # a line per run that is done; removed when all are


def measure() -> dict[str, object]:
    """Return how the runs ended, and how long it took at most to name the host and to end.

    A run trained to the end, ended with a message that names the host, did neither, or hung. In every other run, the
    host is not killed but loses its cable to the data network. A measurement that was interrupted is continued.
    """
    chance = random.Random(0)
    done = [json.loads(line) for line in SO_FAR.read_text().splitlines()] if SO_FAR.exists() else []
    for number in range(RUNS):
        host, after = chance.choice(["node1", "node2"]), chance.uniform(0, LATEST)
        if number < len(done):
            continue
        began = time.monotonic()
        fault = "pull_cable" if number % 2 else "kill"
        ended, named, output = _disturbed(host, after, fault)
        took = time.monotonic() - began
        done.append({"ended": ended, "named": named, "seconds": took})
        SO_FAR.parent.mkdir(exist_ok=True)
        with SO_FAR.open("a") as file:
            print(json.dumps(done[-1]), file=file)
        when = f"named after {named:.1f} s" if named is not None else "not named"
        print(f"{number + 1}/{RUNS}: {fault} {host} after {after:.1f} s: {ended}, {when}, {took:.0f} s", flush=True)
        if ended in ("neither", "hung"):
            print(output, flush=True)
    SO_FAR.unlink()
    return {
        "runs": RUNS,
        **{ending: sum(run["ended"] == ending for run in done) for ending in ("trained", "named", "neither", "hung")},
        "not_named": sum(run["named"] is None for run in done),
        "longest_until_named": round(max(run["named"] or 0 for run in done), 1),
        "longest_seconds": round(max(run["seconds"] for run in done), 1),
    }


def _disturbed(host: str, after: float, fault: str) -> tuple[str, float | None, str]:
    """Train, and let a fault happen to a host after so many seconds.

    Returns:
        How the training ended, after how many seconds a line named the host, and the output.
    """
    with hosts.up(2, slots=1) as cluster:
        happened: list[float] = []
        named: list[float] = []

        def break_it() -> None:
            happened.append(time.monotonic())
            getattr(cluster, fault)(host)

        def look(line: str) -> None:
            if happened and re.search(rf"{host}\b", line):
                named.append(time.monotonic() - happened[0])

        timer = threading.Timer(after, break_it)
        timer.start()
        try:
            done = cluster.run(LAUNCH.split(), say=look, timeout=PATIENCE)
        except subprocess.TimeoutExpired as error:
            return "hung", min(named, default=None), str(error.output)
        finally:
            timer.cancel()
        if done.returncode == 0 and (cluster.shared / "logs" / "model.keras").is_file():
            ended = "trained"
        else:
            ended = "named" if named else "neither"
        return ended, min(named, default=None), done.stdout
