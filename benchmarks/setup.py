"""How long a clean checkout takes to set itself up, with empty caches, downloads included."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from course.steps import ROOT


def measure() -> dict:
    """Return {"seconds"} of the set-up in a fresh copy of the tracked files."""
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    with tempfile.TemporaryDirectory() as scratch:
        for name in tracked:
            copy = Path(scratch) / "checkout" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy)
        variables = {"UV_CACHE_DIR": f"{scratch}/cache", "PIP_NO_CACHE_DIR": "1"}
        began = time.perf_counter()
        set_up = ["bash", "-c", "set -e; source scripts/environment.sh; python -c 'import horovod.tensorflow.keras'"]
        subprocess.run(set_up, cwd=Path(scratch) / "checkout", env=os.environ | variables, check=True)
        return {"seconds": round(time.perf_counter() - began, 1)}
