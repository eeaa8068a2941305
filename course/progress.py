"""What a learner has done so far: the best check of each step, kept in a file in the lessons' folder."""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

import msgspec

from course.steps import NOTEBOOKS, ROOT, STEPS, Step

FILE = NOTEBOOKS / "progress.json"
MEASURED = ROOT / "benchmarks" / "results.json"


class Kept(msgspec.Struct, array_like=True):
    """The best check of a step so far."""

    status: str  # as in a report
    score: float
    max_score: float
    when: str
    digest: str = ""  # of the script that was checked


def keep(step: int, status: str, score: float, max_score: float, script: Path, file: Path = FILE) -> None:
    """Keep the result of a check, unless there was no verdict, or an earlier check of that step was better.

    Args:
        step: its number.
        status: "passed", or why not, as in a report.
        score: the points for all steps of the part up to this one.
        max_score: those that can be had.
        script: the learner's file.
        file: where to.
    """
    known = _known(file)
    best = known.get(str(step))
    if status == "not_graded" or (best and (best.status == "passed", best.score) > (status == "passed", score)):
        return
    known[str(step)] = Kept(status, score, max_score, time.strftime("%d %B %Y, %H:%M"), _digest(script))
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):  # a report is worth more than a note of it
        new.write_bytes(msgspec.json.encode(known))
        new.replace(file)


class Overview:
    """All steps, each with its lesson, the time it computes, and the learner's best check."""

    def __init__(self, file: Path = FILE):
        """Read the checks that were kept in a file, next to the folders with the learner's scripts."""
        self.checks, self.folder = _known(file), file.parent

    def _repr_markdown_(self) -> str:
        """Return the table for a notebook."""
        seconds = json.loads(MEASURED.read_text())["course"]["notebooks"]
        lines = ["| Step | Lesson | Computes for | Your best check |", "| --- | --- | --- | --- |"]
        for step in STEPS:
            lesson = f"[{step.title}]({step.name}/{step.name}.ipynb)"
            label = step.label.removeprefix("step ").capitalize()
            lines.append(f"| {label} | {lesson} | {_duration(seconds.get(step.name))} | {self._check(step)} |")
        return "\n".join(lines)

    def _check(self, step: Step) -> str:
        """Return what the best check of a step found, or why there is none."""
        if not step.has_exercise:
            return "no exercise"
        best = self.checks.get(str(step.number))
        if best is None:
            return ""
        now = _digest(self.folder / step.name / step.script)
        since = "; your file has changed since" if best.digest and now and now != best.digest else ""
        passed = "✓ passed" if best.status == "passed" else "not yet"
        return f"{passed}, {best.score:g} of {best.max_score:g} points, {best.when}{since}"


def _digest(script: Path) -> str:
    """Return a digest of a script's text, or "" where it cannot be read."""
    with contextlib.suppress(OSError):
        return hashlib.sha256(script.read_bytes()).hexdigest()
    return ""


def _duration(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _known(file: Path) -> dict[str, Kept]:
    """Return the checks that were kept; none where the file is missing or damaged."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Kept])
    return {}
