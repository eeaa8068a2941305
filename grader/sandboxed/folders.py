"""What is in a folder into which other ranks write at the same time."""

import contextlib
import os
from pathlib import Path


def files_below(folder: str | Path) -> list[Path]:
    """Return the files below a folder, but for those that are removed meanwhile, of which Path.rglob fails.

    Files in folders that are too deep to go through are left out.
    """
    files = []
    with contextlib.suppress(RecursionError):
        for where, _, names in os.walk(folder):
            for path in (Path(where, name) for name in names):
                with contextlib.suppress(OSError):  # its path is too long
                    if path.is_file():
                        files.append(path)
    return files
