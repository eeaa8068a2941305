"""Execute the course's notebooks headless with papermill, show their progress, and write a summary."""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from papermill.exceptions import PapermillExecutionError
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from traitlets.config import Config

from course.internal import alternatives
from course.steps import STEPS, Step

TIMEOUT = 900  # seconds per notebook

SCRIPTS = sorted({f"*{Path(step.script).suffix}" for step in STEPS})  # a learner's own
LEFT = ("logs", "images", "cache", "results", "host-*")  # by an earlier run of the lesson in its own folder

# The parameters of a notebook, besides ranks, profile and script. The notebooks' own values are those for CPUs.
PARAMETERS: dict[str, dict[str, Any]] = {"cpu": {}, "gpu": {"train_samples": 6000, "test_samples": 1000}}

_COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")


class Display:
    """Progress display: on a terminal, a live bar per notebook below the output; elsewhere, plain lines."""

    def __init__(self, console: Console):
        """Draw on this console."""
        self.console = console
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("cell"),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self.pending = ""

    def begin(self, name: str, title: str, cells: int) -> None:
        """Show that a notebook begins."""
        self.name, self.cells = name, cells
        self.task = self.progress.add_task(f"{name}  {title}", total=cells)
        if not self.console.is_terminal:
            self.console.print(f"{name}  {escape(title)}", highlight=False)

    def cell(self, cell: Any, cell_index: int) -> None:
        """Show that a cell begins; cell_index counts from 0."""
        self.progress.update(self.task, completed=cell_index)
        if not self.console.is_terminal and cell.cell_type == "code":
            self.console.print(f"{self.name}  cell {cell_index + 1}/{self.cells}", highlight=False)

    def write(self, text: str) -> None:
        """Print a notebook's output, once its lines are complete."""
        *lines, self.pending = (self.pending + text).split("\n")
        for line in lines:
            self.console.print(f"  {escape(line)}", style="dim", highlight=False, soft_wrap=True)

    def flush(self) -> None:
        """Do nothing: papermill needs an object that is like a file."""

    def end(self, result: dict[str, Any]) -> None:
        """Show the result of the notebook, as execute() returns it, with its name."""
        self.progress.update(self.task, completed=self.cells)
        self.progress.stop_task(self.task)
        style = "green" if result["status"] == "passed" else "bold red"
        self.console.print(
            f"{result['name']}  {result['status']} in {result['seconds']:.0f} s", style=style, highlight=False
        )
        if result["error"]:
            self.console.print(escape(result["error"]), highlight=False, soft_wrap=True)


def run(
    chosen: list[Step],
    out: Path,
    np: int,
    profile: str,
    data_dir: str | None = None,
    timeout: float = TIMEOUT,
    console: Console | None = None,
) -> dict[str, Any]:
    """Execute the notebooks of these steps, each with its solution as the script.

    Args:
        chosen: the steps.
        out: the directory for executed notebooks, an HTML page of each, and summary.json.
        np: the number of ranks.
        profile: "cpu" or "gpu".
        data_dir: the folder of the data set; the course's own subset if None.
        timeout: seconds after which a notebook is ended.
        console: where to show progress; standard output if None.

    Returns:
        The contents of summary.json: {"np", "profile", "notebooks": [{"name", "step", "status", "seconds", "error"}],
        "seconds"}, with status "passed", "failed" or "timeout", and error None or the reason.
    """
    out.mkdir(parents=True, exist_ok=True)
    display = Display(console or Console())
    results: list[dict[str, Any]] = []
    logbook = (out / "logbook.json").absolute()
    logbook.unlink(missing_ok=True)
    os.environ["COURSE_LOGBOOK"] = str(logbook)  # kernels inherit it: see course.logbook
    summary = {"np": np, "profile": profile, "notebooks": results, "seconds": 0.0}
    began = time.perf_counter()
    with display.progress:
        for step in chosen:
            parameters = {"ranks": np, "profile": profile, "script": str(step.solution), "data_dir": data_dir}
            result = execute(step.notebook, out, step.title, parameters | PARAMETERS[profile], display, timeout)
            results.append({"name": step.name, "step": step.number} | result)
            summary["seconds"] = round(time.perf_counter() - began, 1)
            (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return summary


def execute(
    notebook: Path, out: Path, title: str, parameters: dict[str, Any], display: Display, timeout: float
) -> dict[str, Any]:
    """Execute one notebook in a temporary folder, write it and its HTML page to out, and return the result.

    Args:
        notebook: its path; the other files of its folder are copied along.
        out: an existing directory.
        title: for the display.
        parameters: values for the notebook's parameters cell.
        display: shows the progress.
        timeout: seconds after which the notebook is ended.

    Returns:
        {"status": "passed", "failed" or "timeout", "seconds", "error": None or the reason}.
    """
    os.environ["COURSE_HEADLESS"] = "1"  # kernels inherit it: see course.internal.waiting
    began = time.perf_counter()
    executed = out / notebook.name
    display.begin(notebook.stem, title, len(json.loads(notebook.read_text(encoding="utf-8"))["cells"]) + 1)  # and ours
    status, error = "passed", None
    try:
        _execute(notebook, executed, parameters, display, lambda: timeout - (time.perf_counter() - began))
    except PapermillExecutionError as failure:
        status, error = "failed", _explain(failure)
    except CellTimeoutError:
        status, error = "timeout", f"The notebook timed out after {timeout:g} s."
    except DeadKernelError:
        status, error = "failed", "The notebook's kernel was killed. Often the system is short of memory."
    except Exception as failure:  # a kernel that does not start, a full disk, …: whatever it is, it is in the summary
        status, error = "failed", f"The notebook could not be executed: {type(failure).__name__}: {failure}"
    result = {"status": status, "seconds": round(time.perf_counter() - began, 1), "error": error}
    display.end({"name": notebook.stem} | result)
    return result


def _execute(
    notebook: Path, executed: Path, parameters: dict[str, Any], display: Display, left: Callable[[], float]
) -> None:
    """Execute a notebook in a temporary folder, and write it and its page, also if it fails.

    Args:
        left: returns the seconds that are left.

    Raises:
        Exception: of papermill's, Jupyter's or the system's.
    """
    # The path of a socket has at most 107 characters, and schedulers' folders for temporary files are long.
    short = None if len(tempfile.gettempdir()) < 60 else "/tmp"
    with (
        tempfile.TemporaryDirectory(prefix="course-notebook-") as scratch,
        tempfile.TemporaryDirectory(prefix="course-kernel-", dir=short) as sockets,
    ):
        # The lesson's other files are copied, without a learner's own.
        shutil.copytree(
            notebook.parent, scratch, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*SCRIPTS, *LEFT, ".*")
        )
        try:
            papermill.execute_notebook(
                str(notebook),
                str(executed),
                parameters=parameters,
                cwd=scratch,
                progress_bar=False,
                stdout_file=display,
                stderr_file=display,
                on_cell_start=display.cell,
                timeout_func=lambda cell: max(1, int(left())),
                config=_over_files(sockets),
            )
        finally:
            with suppress(FileNotFoundError):
                lesson = nbformat.read(executed, as_version=4)
                alternatives.describe(lesson)
                nbformat.write(lesson, executed)
                page, _ = HTMLExporter().from_notebook_node(lesson)
                executed.with_suffix(".html").write_text(page, encoding="utf-8")


def _over_files(folder: str) -> Config:
    """Return a configuration of kernels that are reached by sockets in this folder.

    Over TCP, Jupyter looks for free ports and lets go of them until the kernel has begun: with ranks that start at the
    same time, another process gets one of them now and then.
    """
    return Config(KernelManager={"transport": "ipc", "connection_file": f"{folder}/kernel.json"})


def _explain(failure: PapermillExecutionError) -> str:
    """Return the failed cell and its error, without colour codes."""
    shown = _COLOUR_CODES.sub("", "\n".join(failure.traceback))
    return f"cell {failure.cell_index + 1}: {shown.strip()}"
