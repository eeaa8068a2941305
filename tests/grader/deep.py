"""Folders in folders, deeper than recursion goes."""

import contextlib
import os
import shutil
import subprocess


@contextlib.contextmanager
def too_deep(folder):
    """Make them in a folder, and remove them again."""
    before = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    for _ in range(3000):  # their paths are longer than Linux takes
        os.mkdir("d")  # noqa: PTH102
        os.chdir("d")
    os.chdir(before)
    try:
        yield
    finally:
        subprocess.run([shutil.which("rm"), "-r", folder / "d"], check=True)  # Python's own functions fail of them
