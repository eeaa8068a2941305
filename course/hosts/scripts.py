"""Launch and batch scripts: which program runs them. They may be written in bash or in Python."""

import re
from pathlib import Path


def interpreter(script: str | Path) -> str:
    """Return the program for a script, by its first line: python for `#!/usr/bin/env python3`, otherwise bash.

    Args:
        script: the path of the script.
    """
    with Path(script).open(errors="replace") as file:
        first = file.readline(200)
    return "python" if re.match(r"#!.*\bpython", first) else "bash"
