"""What a judgement costs, compared with a run of the finished program under mpirun, and with a running fork server."""

import subprocess
import sys
import tempfile
import time
from statistics import median

from course import launch, steps
from grader import checks
from grader.judge import judge
from grader.runner.pool import Pool

REPEATS = 7
SOLUTION = steps.get(6).solution
ARGUMENTS = checks.of(6).clusters(6)[0].arguments


def measure() -> dict:
    """Return seconds of cold checks and of cold runs under mpirun on the same data, alternating, and of warm checks.

    {"check": [...], "mpirun": [...], "ratio": median of the pairs' ratios, "warm_check": [...], its median}
    """
    checks, runs = [], []
    with tempfile.TemporaryDirectory() as scratch, Pool() as pool:
        judge(SOLUTION, 6, pool)  # what is expected is in the store from now on, as after any check of this step
        for _ in range(REPEATS):
            checks.append(_seconds([sys.executable, "-m", "grader", "check", "--step", "6", str(SOLUTION)], scratch))
            runs.append(_seconds(["mpirun", "-np", "2", sys.executable, str(SOLUTION), *ARGUMENTS], scratch))
        warm = [round(judge(SOLUTION, 6, pool).seconds, 1) for _ in range(REPEATS)]
    ratio = round(median(check / run for check, run in zip(checks, runs, strict=True)), 2)
    return {"check": checks, "mpirun": runs, "ratio": ratio, "warm_check": warm, "warm_median": median(warm)}


def _seconds(command: list[str], folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=launch.environment(2), check=True, capture_output=True)
    return round(time.perf_counter() - began, 1)
