"""The map of the course, and what a learner has done so far: the best check of each step, kept in a file."""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
from IPython.core.formatters import DisplayFormatter
from IPython.display import display

from course import steps
from course.internal import kept, saving
from course.steps import NOTEBOOKS, Step

FILE = NOTEBOOKS / "progress.json"
PREDICTIONS = "predictions.json"  # next to it
INDEX = NOTEBOOKS / "index.ipynb"
MAP = "map"  # the id of the cell there that shows it


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
    known = kept.read(file, Kept)
    best = known.get(str(step))
    if status == "not_graded" or (best and (best.status == "passed", best.score) > (status == "passed", score)):
        return
    known[str(step)] = Kept(status, score, max_score, time.strftime("%d %B %Y, %H:%M"), _digest(script))
    kept.write(file, known)


def keep_own(step: int, status: str, score: float, max_score: float, script: Path) -> bool:
    """Keep the result of a check, as keep() does, if it is of the learner's own file, and return whether it is.

    A lesson that runs without a learner checks the solution, and the scripts of a puzzle have other names.
    """
    path = script.resolve()
    own = steps.SOLUTIONS not in path.parents and path.name == Path(steps.get(step).script).name
    if own:
        keep(step, status, score, max_score, path)
    return own


def passed(step: int) -> bool:
    """Return whether a check of a step has ever passed."""
    best = kept.read(FILE, Kept).get(str(step))
    return best is not None and best.status == "passed"


def predicted(step: int, question: str, known: bool) -> None:
    """Keep whether the learner's first prediction was right. Predictions give no points.

    Args:
        step: the number of the lesson.
        question: the name of the prediction in that lesson.
        known: whether it was right.
    """
    file = FILE.with_name(PREDICTIONS)
    kept.write(file, {f"{step} {question}": known} | kept.read(file, bool))


class Overview:
    """The map: all steps by parts, each with its lesson, its problem, its time, and what the learner has done there."""

    def __init__(self, file: Path = FILE):
        """Read the checks that were kept in a file, next to the folders with the learner's scripts."""
        self.checks, self.folder = kept.read(file, Kept), file.parent
        self.predictions = kept.read(file.with_name(PREDICTIONS), bool)

    def _repr_markdown_(self) -> str:
        """Return the table for a notebook."""
        lines = [
            f"| Step | Lesson | The problem | Time | {_unbroken('Your progress')} |",
            "| --- | :-- | :-- | --: | :-- |",
        ]
        for number, (part, of_part) in enumerate(steps.by_part(), 1):
            lines.append(f"| | **Part {number}: {part.title}** | | **{_unbroken(hours(of_part))}** | |")
            lines += [self._row(step) for step in of_part]
        lines.append(f"| | **All parts** | | **{_unbroken(hours(steps.STEPS))}** | |")
        return "\n".join(lines)

    def _row(self, step: Step) -> str:
        lesson = f"[{step.title}]({step.name}/{step.name}.ipynb)"
        done = "; ".join(filter(None, (self._check(step), self._predictions(step))))
        label, time = _unbroken(step.short_label.capitalize()), _unbroken(_time(step.minutes))
        return f"| {label} | {lesson} | {step.problem} | {time} | {done} |"

    def _predictions(self, step: Step) -> str:
        """Return how many of a lesson's predictions were right at first, if there were any."""
        known = [right for name, right in self.predictions.items() if name.split()[0] == str(step.number)]
        return f"{sum(known)} of {len(known)} predictions right" if known else ""

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


def _unbroken(words: str) -> str:
    """Return words that stay on one line, however narrow their column is."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def _time(minutes: int) -> str:
    """Return a time as a person says it: 35 min, 1 h 20 min or 2 h."""
    parts = (minutes // 60, "h"), (minutes % 60, "min")
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def hours(of_part: Iterable[Step]) -> str:
    """Return how long some steps take together, in whole hours."""
    return f"{sum(step.minutes for step in of_part) / 60:.0f} hours"


def show() -> None:
    """Display the map, and below it the logbook, once it has a line."""
    display(*_pages())


def fill(index: Path = INDEX) -> None:
    """Write the map into the page that JupyterLab opens, as if its cell had been run: a learner sees it at once.

    Where that cannot be, the learner runs the cell.

    Args:
        index: the notebook with the map's cell.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        page = json.loads(index.read_text(encoding="utf-8"))
        (cell,) = (cell for cell in page["cells"] if cell["id"] == MAP)
        shown = [DisplayFormatter().format(each)[0] for each in _pages()]
        cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}} for data in shown]
        new = index.with_name(f".{index.name}.{os.getpid()}")
        new.write_text(json.dumps(page, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        new.replace(index)
        saving.note(index).wait()


def _pages() -> list[object]:
    from course import logbook  # which imports matplotlib, and only the map needs it

    lines = logbook.Logbook()
    return [Overview(), lines] if lines.lines else [Overview()]
