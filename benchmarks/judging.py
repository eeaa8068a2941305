"""What a judgement costs, compared with a run of the finished program under its launcher, and with a fork server.

The launcher's run has the arguments and the images of the judge's first cluster of that step: mpirun for Horovod's
programs, `python -m course cluster` for those of a TF_CONFIG cluster.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from course import launch, steps
from course.steps import ROOT, SOLUTIONS, Step
from grader import checks
from grader.judge import judge
from grader.runner import synthetic_data
from grader.runner.pool import Pool
from grader.terms.clusters import IMAGES, AnyCluster

REPEATS = 7
PAIRS = 5  # for the steps after the first
STEPS = 11, 14, 15, 16


def measure() -> dict:
    """Return seconds of cold checks and of cold runs under the launcher, alternating, and of warm checks of step 6.

    {"check": [...], "mpirun": [...], "ratio": median of the pairs' ratios, "warm_check": [...], its median, and
    "steps": {number: {"check", "run", "ratio"}}}
    """
    first = _pairs(6, REPEATS)
    with Pool() as pool:
        judge(steps.get(6).solution, 6, pool)
        warm = [round(judge(steps.get(6).solution, 6, pool).seconds, 1) for _ in range(REPEATS)]
    return {
        "check": first["check"],
        "mpirun": first["run"],
        "ratio": first["ratio"],
        "warm_check": warm,
        "warm_median": median(warm),
        "steps": {str(number): _pairs(number, PAIRS) for number in STEPS},
    }


def _pairs(number: int, pairs: int) -> dict:
    """Return seconds of cold checks of a step's solution, and of its cold runs, alternating."""
    step, check, run = steps.get(number), [], []
    with tempfile.TemporaryDirectory() as folder:
        synthetic_data.make(Path(folder) / "data")
        program = Path(folder) / checks.of(number).script
        program.write_text(step.solution.read_text())
        checked = [sys.executable, "-m", "grader", "check", "--step", str(number), str(program)]
        _seconds(checked, folder)  # what is expected is in the store from now on, as after any check of this step
        for _ in range(pairs):
            check.append(_seconds(checked, folder))
            with tempfile.TemporaryDirectory(dir=folder) as place:
                run.append(_seconds(_launched(step, checks.of(number).clusters(number)[0], program), place))
    ratio = round(median(one / other for one, other in zip(check, run, strict=True)), 2)
    return {"check": check, "run": run, "ratio": ratio}


def _launched(step: Step, cluster: AnyCluster, program: Path) -> list[str]:
    """Return the command that runs a step's program on a cluster, by the launcher that the lesson takes."""
    images = f"{program.parent}/data/{synthetic_data.FOLDER}"
    arguments = [argument.replace(IMAGES, images) for argument in cluster.arguments]
    if not cluster.tasks:
        return ["mpirun", "-np", str(cluster.size), sys.executable, str(program), *arguments]
    tasks: dict[str, list[str]] = {}
    for task in cluster.tasks:
        own = [str(SOLUTIONS / task.program), *task.arguments] if task.program else [str(program), *arguments]
        tasks.setdefault(task.type, []).append(" ".join(own).replace(IMAGES, images))
    commands = [f"{kind}:{len(programs)}={programs[0]}" for kind, programs in tasks.items()]
    return [sys.executable, "-m", "course", "cluster", *commands]


def _seconds(command: list[str], folder: str) -> float:
    environment = launch.environment(2) | {"PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return round(time.perf_counter() - began, 1)
