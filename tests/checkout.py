"""A checkout for tests: a copy of the repository that a test may change, and commands that run in it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from course.steps import ROOT


class Checkout:
    """A copy of the repository's files, with the environment of the tests."""

    def __init__(self, folder: Path):
        """Copy the files that git tracks, or would, into a folder."""
        self.root = folder / "checkout"
        listed = ["git", "ls-files", "-co", "--exclude-standard"]
        for name in subprocess.check_output(listed, cwd=ROOT, text=True).splitlines():
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name, follow_symlinks=False)
        self.environment = os.environ | {
            "PYTHONPATH": str(self.root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JUPYTER_CONFIG_PATH": str(self.root / "grader"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "HOME": str(folder),
        }
        self.before = self.texts()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the checkout."""
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True)

    def failing(self, *tests: str) -> list[str]:
        """Return the tests that fail in the checkout, of those that these arguments of pytest choose."""
        done = self.run("-m", "pytest", "--quiet", "-rfE", "-p", "no:cacheprovider", *tests)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)

    def texts(self) -> dict[str, bytes]:
        """Return the content of every file, and of every link its target, by name, without the tools' caches."""
        files = {str(path.relative_to(self.root)): path for path in self.root.rglob("*") if path.is_file()}
        return {
            name: bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
            for name, path in files.items()
            if not re.search("_cache|__pycache__", name)
        }

    def changed(self) -> set[str]:
        """Return the names of the files that were added, changed or deleted since the copy was made."""
        now = self.texts()
        return {name for name in now.keys() | self.before.keys() if now.get(name) != self.before.get(name)}

    def edit(self, name: str, *edits: tuple[str, str]) -> None:
        """Replace texts in a file. Each of the old texts has to be there."""
        path = self.root / name
        text = path.read_text()
        for old, new in edits:
            assert old in text, old
            text = text.replace(old, new)
        path.write_text(text)
