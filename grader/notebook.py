"""check() for notebooks: the judge, with its fork server kept running from call to call."""

import atexit
import contextlib
import functools
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec
from IPython.display import HTML, FileLink

from course import progress, steps
from course.internal import namespaces
from course.internal.waiting import Waiting
from course.steps import NOTEBOOKS, ROOT
from grader.judge import judge
from grader.report import certificate as certificates
from grader.report import head, html
from grader.report.head import Head
from grader.runner.pool import Pool
from grader.sandbox import policy
from grader.terms.report import Published, Report


@functools.cache
def pool() -> Pool:
    """Return this process's pool, made at the first call."""
    made = Pool()  # which begins to import TensorFlow
    atexit.register(made.__exit__)
    why_not = policy.available()
    if why_not:
        made.sandboxed = False
        print(f"No sandbox can be made here ({why_not}): your script runs unprotected. {namespaces.PERMIT}")
    return made.__enter__()


@dataclass
class Checked(Report):
    """The judgement of the learner's own file, with a head that says which file it was and when it was saved."""

    head: Head | None = None

    def _repr_html_(self) -> str:
        """Return the report for a notebook, with its head."""
        return html.of_head(self.head) + html.page(self, self.figure) + self._onward()

    def _onward(self) -> str:
        """Return a link to the next lesson, once the step's own file has passed."""
        following = steps.after(steps.get(self.step)) if self.head and self.status == "passed" else None
        if not following:
            return ""
        name = f"{following.label.capitalize()}: {following.title}"
        return f'<p>Next: <a href="../{following.name}/{following.name}.ipynb">{name}</a></p>'


def check(step: int | str, script: str = "fashion_mnist.py") -> Checked:
    """Judge the script at a step; the report shows itself in the notebook, and index.ipynb shows its result.

    Args:
        step: its number, or its name, such as "capstone 1".
        script: the learner's file.
    """
    number = steps.number(str(step))
    before = head.read(script, number)  # the file as it is judged
    with Waiting("the check is getting ready") as waiting:

        def begins(cluster: str) -> None:
            waiting.what = f"your script is running ({cluster})"

        checked = Checked(**vars(judge(script, number, pool(), begins=begins)), head=before)
    own = progress.keep_own(number, checked.status, checked.score, checked.max_score, Path(script))
    if own and checked.status == "passed" and steps.get(number).is_capstone:
        _keep(checked)
    return checked


def certificate(step: str, name: str = "", folder: Path = NOTEBOOKS) -> HTML | FileLink:
    """Write certificate.html, on the last check of a capstone that passed, and return a link to it.

    Args:
        step: the capstone, such as "capstone 1".
        name: the learner's, if it is to be on the page.
        folder: where the check was kept.
    """
    kept = folder / f"{steps.get(step).name}.passed.json"
    try:
        passed = msgspec.json.decode(kept.read_bytes(), type=certificates.Passed)
    except (OSError, msgspec.MsgspecError):
        return HTML("<p>There is no certificate yet: no check of this capstone with your file has passed.</p>")
    page = Path("certificate.html")
    page.write_text(certificates.page(passed, name))
    return FileLink(page)


def _keep(checked: Checked, folder: Path = NOTEBOOKS) -> None:
    """Keep a check that passed, for the certificate."""
    report = msgspec.convert(checked.published(), Published)
    when = time.strftime("%d %B %Y, %H:%M")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    passed = certificates.Passed(report, when, version)
    with contextlib.suppress(OSError):  # a report is worth more than a certificate
        (folder / f"{steps.get(checked.step).name}.passed.json").write_bytes(msgspec.json.encode(passed))
