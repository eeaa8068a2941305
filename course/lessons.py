"""Helpers that several lessons share: filters for what a run prints, clean folders, servers, new lines of a program."""

import ast
import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from course import launch
from course.cluster import Cluster
from course.steps import SOLUTIONS

WORKER_AND_PS = SOLUTIONS / "parameter_server" / "worker_and_ps.py"
RUN_FOLDERS = ("cache", "logs", "results", "host-*")  # what the programs of the second part write where they run


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


def error_of(program: str | Path, **variables: str) -> str:
    """Run a program in a process of its own, and return the last line of its error output.

    Args:
        program: the script.
        variables: environment variables, in addition to those of this process.
    """
    ended = subprocess.run([sys.executable, program], env=os.environ | variables, capture_output=True, text=True)
    return (ended.stderr.strip().splitlines() or [""])[-1]


def show_function(program: str | Path, name: str) -> None:
    """Print a function of a program.

    Args:
        program: the file.
        name: of the function.

    Raises:
        LookupError: the program has no such function.
    """
    text = Path(program).read_text()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            print(ast.get_source_segment(text, node))
            return
    raise LookupError(f"{Path(program).name} has no function {name}.")


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
