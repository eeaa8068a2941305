"""How long an ordinary user on a bare Debian 12 takes from a clone to the first lessons, with empty caches.

The system has the packages that README.md names, in a temporary folder of about 5 GB. The path of the course has blanks
and umlauts, and that of the temporary folder is long, as a scheduler's may be.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import click

from benchmarks import bare
from course.steps import ROOT

PACKAGES = ["python3", "python3-pip", "g++", "make"]
COMMAND = ["scripts/run", "--steps", "0-1"]
USER = "learner"
HOME = Path("/home", USER)
COURSE = HOME / "ein Kurs für Anfänger"
TEMPORARY = HOME / "temporary-files-of-a-job" / ("0123456789" * 9)


def measure() -> dict:
    """Return {"seconds", "setup_seconds", "passed", "packages"} of COMMAND; "passed" counts the lessons.

    Raises:
        click.ClickException: root's rights or mmdebstrap are missing.
    """
    if lacking := bare.lacking():
        raise click.ClickException(f"fresh {lacking}")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root"
        course = Path(f"{root}{COURSE}")
        bare.make(root, PACKAGES)
        subprocess.run(["chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", USER], check=True)
        variables = bare.settings(root, HOME) | {"TMPDIR": str(TEMPORARY)}
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, course], check=True)
        Path(f"{root}{TEMPORARY}").mkdir(parents=True)
        subprocess.run(["chroot", root, "chown", "--recursive", f"{USER}:", HOME], check=True)
        began = time.time()
        subprocess.run(bare.command(root, COURSE, USER, variables, COMMAND), check=True)
        seconds = time.time() - began
        made = (course / ".venv" / "made-from.cpu").stat().st_mtime
        summary = json.loads((course / "out" / "summary.json").read_text())
        return {
            "seconds": round(seconds, 1),
            "setup_seconds": round(made - began, 1),
            "passed": sum(notebook["status"] == "passed" for notebook in summary["notebooks"]),
            "packages": PACKAGES,
        }
