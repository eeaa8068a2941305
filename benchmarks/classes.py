"""A class of fifty over all steps: how fast scripts/grade is, what nbgrader takes of it, and whether anything is lost.

Compared, in the same run, with plain nbgrader on some of the same submissions. It has a test cell for each step up to
the graded one, which runs mpirun on all of the judge's clusters, since that is what the checks are about, on three of
them, which the judge had at first, and on one only.
"""

import itertools
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import nbformat
import psutil

from course import launch
from course.steps import ROOT, Step
from grader import checks
from tests.corpus import CORRECT, WRONG
from tests.school import School

LEARNERS = 50
KILLS = 20
PART = checks.of(6)
GRADED = list(dict.fromkeys(check.step for check in PART.checks))
PLAIN = len(PART.clusters(6)), 3, 1  # on how many clusters plain nbgrader runs a submission


def measure() -> dict:
    """Return what grading the class took, compared with plain nbgrader, and what became of it under SIGKILL.

    {"submissions", "seconds", "per_minute", "peak_mib", "lost", "nbgrader_share", "plain_per_minute": by the number of
    clusters that plain nbgrader runs a submission on, "ratio": likewise, "kills", "same_gradebook"}
    """
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = _class(Path(folder) / "whole"), _class(Path(folder) / "killed")
        with _PeakMemory() as memory:
            seconds = sum(_seconds(whole, step) for step in GRADED)
        gradebook = whole.gradebook()
        for record in (whole.course / "verdicts").glob("graded-*.json"):
            record.unlink()
        nbgrader = sum(_seconds(whole, step) for step in GRADED)  # all verdicts are in the store
        kills = _grade_under_fire(killed)
        submissions = LEARNERS * len(GRADED)
        rate = 60 * submissions / seconds
        plain = {str(count): _plain_rate(Path(folder) / f"plain-{count}", whole, count) for count in PLAIN}
        return {
            "submissions": submissions,
            "seconds": round(seconds),
            "per_minute": round(rate, 1),
            "peak_mib": round(memory.peak / 2**20),
            "lost": submissions - len({(student, cell.split("/")[0]) for student, cell in gradebook}),
            "nbgrader_share": round(nbgrader / seconds, 2),
            "plain_per_minute": {count: round(own, 2) for count, own in plain.items()},
            "ratio": {count: round(rate / own, 1) for count, own in plain.items()},
            "kills": kills,
            "same_gradebook": killed.gradebook() == gradebook,
        }


def _class(folder: Path) -> School:
    """Return a class that has handed everything in: three in five right, the others with one mistake each."""
    school = School(folder)
    for step in GRADED:
        school.run("generate_assignment", step.name)
        right = itertools.cycle(row for row in CORRECT["horovod"] if row.step == step.number)
        wrong = itertools.cycle(row for row in WRONG["horovod"] if row.step == step.number)
        for number in range(LEARNERS):
            student = f"learner-{number:02d}"
            text = next(right if number % 5 < 3 else wrong).text()
            school.submit(student, step, f"{text}\n# {student}\n")
    return school


def _seconds(school: School, step: Step) -> float:
    began = time.perf_counter()
    done = school.grade(step)
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - began


def _grade_under_fire(school: School) -> int:
    """Grade all steps, killing the grader at random, and return how often it was killed."""
    chance, kills = random.Random(0), 0
    for step in GRADED:
        while True:
            patience = chance.uniform(5, 60) if kills < KILLS else None
            process = subprocess.Popen(
                school.grading(step),
                cwd=ROOT,
                env=school.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                assert process.wait(patience) == 0
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
    return kills


def _plain_rate(folder: Path, school: School, clusters: int) -> float:
    """Return how many submissions per minute plain nbgrader grades, where a cell runs mpirun on so many clusters."""
    for number, step in enumerate(GRADED, 1):
        notebook = nbformat.v4.new_notebook()
        commands = [
            ["mpirun", "-np", str(cluster.size), sys.executable, step.script, *cluster.arguments]
            for cluster in PART.clusters(step.number)[:clusters]
        ]
        for tested in GRADED[:number]:
            cell = nbformat.v4.new_code_cell(
                f"import subprocess\nfor command in {commands}:\n"
                "    subprocess.run(command, check=True, capture_output=True)"
            )
            cell.metadata.nbgrader = {"schema_version": 3, "grade": True, "solution": False, "locked": True}
            cell.metadata.nbgrader |= {"task": False, "grade_id": tested.name, "points": 10, "cell_type": "code"}
            notebook.cells.append(cell)
        for place in (folder / "source" / step.name, folder / "submitted" / "learner" / step.name):
            place.mkdir(parents=True)
            nbformat.write(notebook, place / f"{step.name}.ipynb")
        script = school.course / "submitted" / "learner-00" / step.name / step.script
        (folder / "submitted" / "learner" / step.name / step.script).write_text(script.read_text())
        (folder / "source" / step.name / step.script).write_text(script.read_text())
    (folder / "nbgrader_config.py").write_text("c.Execute.timeout = 600\n")
    began = time.perf_counter()
    for step in GRADED:
        _nbgrader(folder, "generate_assignment", step)
        _nbgrader(folder, "autograde", step)
    return 60 * len(GRADED) / (time.perf_counter() - began)


def _nbgrader(folder: Path, command: str, step: Step) -> None:
    environment = launch.environment(2)
    environment.pop("JUPYTER_CONFIG_PATH", None)
    done = [sys.executable, "-m", "nbgrader", command, step.name]
    subprocess.run(done, cwd=folder, env=environment, check=True, capture_output=True)


class _PeakMemory:
    """The largest memory that this process's descendants take together, in bytes, each page counted once."""

    def __enter__(self):
        self.peak, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.over.set()
        self.thread.join()

    def _watch(self) -> None:
        while not self.over.wait(1):
            taken = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    taken += process.memory_full_info().pss
                except psutil.Error:
                    continue
            self.peak = max(self.peak, taken)
