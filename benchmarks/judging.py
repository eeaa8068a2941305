"""What a judgement costs, beside a plain run of the finished program under mpirun, and once a process is warm."""

import select
import subprocess
import sys
import tempfile
import time
from statistics import median

from course import launch, steps
from grader.judge import judge
from grader.pool import SIZES, Pool

REPEATS = 5
SOLUTION = steps.get(6).solution


def measure() -> dict:
    """Return seconds of cold checks and of cold runs under mpirun on the same data, in turns, and of warm checks.

    {"check": [...], "mpirun": [...], "ratio": median of the pairs' ratios, "warm_check": [...]}
    """
    checks, runs = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(REPEATS):
            checks.append(_seconds([sys.executable, "-m", "grader", "check", "--step", "6", str(SOLUTION)], scratch))
            sizes = [part for name, value in SIZES.items() for part in (f"--{name}", str(value))]
            runs.append(_seconds(["mpirun", "-np", "2", sys.executable, str(SOLUTION), *sizes], scratch))
    warm = []
    with Pool() as pool:
        for _ in range(REPEATS + 1):
            began = time.perf_counter()
            judge(SOLUTION, 6, pool)
            warm.append(round(time.perf_counter() - began, 1))
            pool.warm()
            select.select([pool.waiting[0].stdout], [], [])  # it says so when it is warm
    ratio = round(median(check / run for check, run in zip(checks, runs, strict=True)), 2)
    return {"check": checks, "mpirun": runs, "ratio": ratio, "warm_check": warm[1:]}


def _seconds(command: list[str], folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=launch.environment(2), check=True, capture_output=True)
    return round(time.perf_counter() - began, 1)
