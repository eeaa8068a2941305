"""Grading many scripts: by the judge, and the plain way, a notebook with a test cell per step that runs mpirun."""

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient

from course import launch
from course.steps import ROOT
from grader import checks
from tests.corpus import CORRECT, WRONG

SUBMISSIONS = 60
STEP = 6
PART = checks.of(STEP)
CLUSTERS = PART.clusters(STEP)
PLAIN = 3  # submissions graded the plain way: its rate does not change with their number
JOBS = 2


def measure() -> dict:
    """Return rates of both ways, in submissions per minute, and processor seconds per submission of each.

    {"judge_rate", "plain_rate", "ratio", "cpu_seconds", "plain_cpu_seconds"}
    """
    rows = itertools.cycle(row for row in (*CORRECT["horovod"], *WRONG["horovod"]) if row.step == STEP)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"learner-{number:02d}" / "fashion_mnist.py" for number in range(SUBMISSIONS)]
        for file, row in zip(files, rows, strict=False):
            file.parent.mkdir()
            file.write_text(row.text())
        with _measured() as judged:
            command = [sys.executable, "-m", "grader", "batch", "--step", str(STEP), "--jobs", str(JOBS), folder]
            done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        assert len(done.stdout.splitlines()) == SUBMISSIONS
        assert all(json.loads(line)["status"] in ("passed", "failed") for line in done.stdout.splitlines())
        with _measured() as plain:
            for file in files[:PLAIN]:
                _grade_plainly(file.parent)
    rates = 60 * SUBMISSIONS / judged["seconds"], 60 * PLAIN / plain["seconds"]
    return {
        "judge_rate": round(rates[0], 1),
        "plain_rate": round(rates[1], 2),
        "ratio": round(rates[0] / rates[1], 1),
        "cpu_seconds": round(judged["cpu"] / SUBMISSIONS, 1),
        "plain_cpu_seconds": round(plain["cpu"] / PLAIN, 1),
    }


@contextmanager
def _measured() -> Iterator[dict]:
    """Fill in the seconds that the context took, and those that the machine's processors were at work."""
    measured, began, busy = {}, time.perf_counter(), _busy()
    yield measured
    measured |= {"seconds": time.perf_counter() - began, "cpu": _busy() - busy}


def _busy() -> float:
    times = psutil.cpu_times()
    return times.user + times.nice + times.system


def _grade_plainly(folder: Path) -> None:
    command = ["mpirun", "-np", "2", sys.executable, "fashion_mnist.py", *CLUSTERS[0].arguments]
    cell = f"import subprocess\nsubprocess.run({command}, capture_output=True)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for _ in range(STEP)])
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}).execute(env=launch.environment(2))
