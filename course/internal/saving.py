"""After JupyterLab has saved a lesson, let git note that only outputs are new: git pull then updates the lesson."""

import subprocess
from pathlib import Path
from typing import Any

from course.steps import NOTEBOOKS, ROOT

# git compares the file's size before it asks the filter of scripts/setup, and git pull would refuse.
NOTE = 'git diff --quiet HEAD -- "$1" && git add -- "$1"'


def let_git_note(model: dict[str, Any], os_path: str, contents_manager: object) -> None:
    """Do so in the background. A hook of Jupyter's, which calls it with these arguments.

    Args:
        model: of the file that was saved.
        os_path: its path.
        contents_manager: which saved it.
    """
    if model["type"] == "notebook" and Path(os_path).is_relative_to(NOTEBOOKS):
        note(os_path)


def note(path: str | Path) -> subprocess.Popen[bytes]:
    """Begin to do so for a lesson, and return the process that does it."""
    command = ["sh", "-c", NOTE, "sh", str(path)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
