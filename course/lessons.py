"""Helpers that several lessons share: filters for what a run prints, clean folders, servers, new lines of a program."""

import difflib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from IPython import get_ipython

from course import launch
from course.cluster import Cluster
from course.internal import missing_names
from course.steps import SOLUTIONS

WORKER_AND_PS = SOLUTIONS / "parameter_server" / "worker_and_ps.py"
RUN_FOLDERS = ("cache", "logs", "results", "host-*")  # what the programs of the second part write where they run

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", launch.LOG_LEVEL)  # a lesson imports TensorFlow, too, to look things up
if shell := get_ipython():
    missing_names.explain(shell)


def ranks_or_np(ranks: int) -> int:
    """Return the number of ranks that a lesson runs on: np where `papermill -p np` has set it, otherwise ranks.

    A learner may have imported numpy as np: only a number counts.

    Args:
        ranks: the lesson's parameter.
    """
    shell = get_ipython()
    np = shell.user_ns.get("np") if shell else None
    return np if isinstance(np, int) else ranks


def quiet(line: str) -> None:
    """Print nothing. As the `say` of a run, it hides all output.

    Args:
        line: a line that a process printed.
    """


def only(pattern: str) -> Callable[[str], None]:
    """Return a `say` that prints a line if a pattern occurs in it.

    Args:
        pattern: a regular expression, such as r"^\\$" for the commands, which begin with a dollar sign.
    """
    matches = re.compile(pattern).search
    return lambda line: print(line) if matches(line) else None


def empty_folder(path: str | Path) -> Path:
    """Make a folder, deleting what an earlier run of the lesson left there, and return its path.

    Args:
        path: the folder.
    """
    folder = Path(path)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def run_from_scratch(program: str | Path, np: int, **options: object) -> launch.Run:
    """Run a program without the cached data, checkpoints and results of the run before.

    Args:
        program: the script.
        np: how many ranks.
        options: as for launch.script().

    Raises:
        launch.RunError: as launch.script() does.
    """
    for pattern in RUN_FOLDERS:
        for folder in Path().glob(pattern):
            shutil.rmtree(folder, ignore_errors=True)
    return launch.script(program, np, **options)  # type: ignore[arg-type]


def start_servers(tasks: Cluster) -> None:
    """Start every parameter server and every worker of a cluster.

    Args:
        tasks: the cluster.
    """
    for kind, index in list(tasks.tasks):
        if kind in ("ps", "worker"):
            tasks.start(kind, index, WORKER_AND_PS)


def new_lines(program: str | Path, original: str | Path) -> list[str]:
    """Return the lines of a program that are not in the original, without indentation, comments and the docstring.

    Args:
        program: a script with a docstring.
        original: the script that it was made from, also with a docstring.
    """
    texts = (Path(path).read_text().split('"""', 2)[2] for path in (original, program))
    before, after = ([line.strip() for line in text.splitlines()] for text in texts)
    marked = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]  # without the names of the files
    return [line[1:] for line in marked if line[0] == "+" and line[1:] and line[1] != "#"]
