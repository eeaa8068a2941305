"""What a learner has done so far: the last check of each step, kept in a file in the lessons' folder."""

import contextlib
import json
import os
import time
from pathlib import Path

import msgspec

from course.steps import NOTEBOOKS, ROOT, STEPS, Step

FILE = NOTEBOOKS / "progress.json"
MEASURED = ROOT / "benchmarks" / "results.json"

Checks = dict[str, tuple[str, float, float, str]]  # step -> status, score, best score, when


def keep(step: int, status: str, score: float, max_score: float, file: Path = FILE) -> None:
    """Keep the result of a check in the place of that step's last one.

    Args:
        step: its number.
        status: "passed", or why not, as in a report.
        score: the points for all steps of the part up to this one.
        max_score: those that can be had.
        file: where to.
    """
    known = _known(file) | {str(step): (status, score, max_score, time.strftime("%d %B %Y, %H:%M"))}
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):  # a report is worth more than a note of it
        new.write_bytes(msgspec.json.encode(known))
        new.replace(file)


class Overview:
    """All steps, each with its lesson, the time it computes, and the learner's last check."""

    def __init__(self, file: Path = FILE):
        """Read the checks that were kept in a file."""
        self.checks = _known(file)

    def _repr_markdown_(self) -> str:
        """Return the table for a notebook."""
        seconds = json.loads(MEASURED.read_text())["course"]["notebooks"]
        lines = ["| Step | Lesson | Computes for | Your last check |", "| --- | --- | --- | --- |"]
        for step in STEPS:
            lesson = f"[{step.title}]({step.name}/{step.name}.ipynb)"
            label = step.label.removeprefix("step ").capitalize()
            lines.append(f"| {label} | {lesson} | {_duration(seconds.get(step.name))} | {self._check(step)} |")
        return "\n".join(lines)

    def _check(self, step: Step) -> str:
        """Return what the last check of a step found, or why there is none."""
        if not step.has_exercise:
            return "no exercise"
        if str(step.number) not in self.checks:
            return ""
        status, score, max_score, when = self.checks[str(step.number)]
        return f"{'✓ passed' if status == 'passed' else 'not yet'}, {score:g} of {max_score:g} points, {when}"


def _duration(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _known(file: Path) -> Checks:
    """Return the checks that were kept; none where the file is missing or damaged."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=Checks)
    return {}
