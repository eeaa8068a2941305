"""Verdicts on submitted scripts: made in the sandbox, kept by what was judged, and read back for the gradebook.

A verdict is {"report": a grader.terms.report.Published, "figure": SVG of the first failure, or ""}.
"""

import atexit
import functools
import hashlib
import json
import os
import tempfile
import threading
from pathlib import Path

import msgspec

from course import steps
from course.internal import namespaces
from course.steps import Step
from grader.checks import ending
from grader.judge import judge
from grader.runner import expectations
from grader.runner.pool import NoVerdictError, Pool
from grader.sandbox import policy
from grader.terms.report import Report

_making = threading.Lock()


def key(script: bytes, step: Step) -> str:
    """Return what names a verdict: the script, the step and its solution, and the judge."""
    parts = (script, step.name.encode(), step.solution.read_bytes(), expectations.CODE.encode())
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


class Store:
    """Verdicts in a folder that only its owner may enter."""

    def __init__(self, folder: Path):
        """Keep verdicts in the folder, which is made."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)

    def get(self, name: str) -> dict | None:
        """Return the verdict of that key, or None: a file that is no whole verdict is none."""
        try:
            verdict = json.loads((self.folder / f"{name}.json").read_text())
            Report.from_published(verdict["report"])
            return verdict if isinstance(verdict["figure"], str) else None
        except (OSError, ValueError, KeyError, TypeError, msgspec.ValidationError):
            return None

    def put(self, name: str, verdict: dict) -> None:
        """Keep a verdict, whole or not at all. One that says not_graded is not kept: it is worth another try."""
        if verdict["report"]["status"] == "not_graded":
            return
        partial = self.folder / f"{name}.{os.getpid()}.{threading.get_ident()}"
        partial.write_text(json.dumps(verdict))
        partial.replace(self.folder / f"{name}.json")


def _pool() -> Pool:
    """Return this process's pool, which all its threads share.

    Raises:
        NoVerdictError: no sandbox can be made here.
    """
    with _making:  # the cache alone lets two threads that ask at once make one each
        return _made_once()


@functools.cache
def _made_once() -> Pool:
    """Make the pool; it ends with the process.

    Raises:
        NoVerdictError: no sandbox can be made here.
    """
    why_not = policy.available()
    if why_not:
        raise NoVerdictError(
            f"No sandbox can be made here ({why_not}), and others' scripts are run in nothing less. {namespaces.PERMIT}"
        )
    pool = Pool()
    atexit.register(pool.__exit__)
    return pool.__enter__()


def make(script: bytes, number: int) -> dict:
    """Judge a script for a step, here, and return the verdict."""
    name = steps.get(number).script
    try:
        pool = _pool()
    except NoVerdictError as error:
        return _told(number, str(error))
    with tempfile.TemporaryDirectory(dir=pool.folder.name) as folder:  # a kill of this process removes that, too
        path = Path(folder) / name
        path.write_bytes(script)
        report = judge(path, number, pool)
    report.file = name
    return {"report": report.published(), "figure": report.figure}


def missing(step: Step) -> dict:
    """Return the verdict on a submission without a script: a person has to say what it is worth."""
    return _told(step.number, f"{step.script} is missing from what was handed in.")


def none(step: Step) -> dict:
    """Return the verdict on a script that could not be judged."""
    return _told(step.number, "The judge reached no verdict.")


def _told(number: int, why: str) -> dict:
    report = Report(number, steps.get(number).script, "not_graded")
    report.checks = [ending.outcome("error", number, why)]
    return {"report": report.published(), "figure": ""}


def of(script: bytes | None, step: Step, store: Store) -> dict:
    """Return the verdict on a script, from the store or made now."""
    if script is None:
        return missing(step)
    name = key(script, step)
    verdict = store.get(name)
    if verdict is None:
        verdict = make(script, step.number)
        store.put(name, verdict)
    return verdict
