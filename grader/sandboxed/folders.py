"""What is in a folder into which other ranks write at the same time."""

import os
from pathlib import Path


def files_below(folder: str | Path) -> list[Path]:
    """Return the files below a folder but for those that are removed meanwhile, of which Path.rglob fails."""
    paths = (Path(where, name) for where, _, names in os.walk(folder) for name in names)
    return [path for path in paths if path.is_file()]
