"""check() for notebooks: the judge, with its fork server kept running from call to call."""

import atexit
import functools
from dataclasses import dataclass
from pathlib import Path

from course import progress, steps
from course.internal.waiting import Waiting
from course.steps import SOLUTIONS
from grader.judge import judge
from grader.report import head, html
from grader.report.data import Report
from grader.report.head import Head
from grader.runner import sandbox
from grader.runner.pool import Pool


@functools.cache
def _pool() -> Pool:
    why_not = sandbox.available()
    if why_not:
        print(f"No sandbox can be made here ({why_not}): your script runs unprotected.")
    pool = Pool(sandboxed=not why_not)
    atexit.register(pool.__exit__)
    return pool.__enter__()


@dataclass
class Checked(Report):
    """The judgement of the learner's own file, with a head that says which file it was and when it was saved."""

    head: Head | None = None

    def _repr_html_(self) -> str:
        """Return the report for a notebook, with its head."""
        return html.of_head(self.head) + super()._repr_html_()


def check(step: int, script: str = "fashion_mnist.py") -> Checked:
    """Judge the script at a step; the report shows itself in the notebook, and index.ipynb shows its result."""
    before = head.read(script, step)  # the file as it is judged
    with Waiting("the check is getting ready") as waiting:

        def begins(cluster: str) -> None:
            waiting.what = f"your script is running ({cluster})"

        checked = Checked(**vars(judge(script, step, _pool(), begins=begins)), head=before)
    path = Path(script).resolve()
    # A lesson that runs without a learner checks the solution, and a puzzle's scripts have other names.
    if SOLUTIONS not in path.parents and path.name == Path(steps.get(step).script).name:
        progress.keep(step, checked.status, checked.score, checked.max_score)
    return checked
