"""Which files a rank opens: in the store that the data come from, in the folder of results, and as checkpoints.

Python reports every file that it opens to an audit hook (PEP 578); HDF5 opens its files by itself, so h5py is asked.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import h5py

from grader import facts
from grader.job import Folders

SLOWNESS = 0.02  # seconds that each file of the store takes longer: a rank that does not wait gets ahead of the copy


class WatchedFiles:
    """Watches the files of one rank; facts() is what it saw."""

    def __init__(self, folders: Folders):
        """Watch these folders, which are named as the script's arguments name them."""
        self.store, self.results, self.logs = (
            os.path.abspath(folder)  # noqa: PTH100  resolve() would itself open what the hook reports
            for folder in (folders.store, folders.results, folders.logs)
        )
        self.checkpoints = f"{self.logs}{os.sep}checkpoint-"  # what the paths of checkpoints begin with
        self.training = False
        self.copied: set[str] = set()
        self.read_in_training: set[str] = set()
        self.results_written: set[str] = set()
        self.written: set[str] = set()

    def watch(self) -> None:
        """Begin."""
        sys.addaudithook(lambda event, details: self._note(*details) if event == "open" else None)
        init = h5py.File.__init__

        def watched(file: Any, name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> None:
            self._note(name, mode, 0)
            init(file, name, mode, *args, **kwargs)

        h5py.File.__init__ = watched

    def _note(self, opened: object, mode: str | None, flags: int) -> None:
        if not isinstance(opened, str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(opened))  # noqa: PTH100
        writes = bool(set(mode or "") & set("wax+")) or bool(flags & (os.O_WRONLY | os.O_RDWR))
        if writes:
            self.written.add(path)
            if path.startswith(self.results + os.sep):
                self.results_written.add(path)
        elif path.startswith(self.store + os.sep):
            if self.training:
                self.read_in_training.add(path)
            elif path not in self.copied:
                self.copied.add(path)
                time.sleep(SLOWNESS)

    def facts(self) -> facts.Files:
        """Return what this rank opened, and what its host's folders hold now; at most 100 names of each."""
        left = {str(path.relative_to(self.logs)): str(path) for path in Path(self.logs).rglob("*") if path.is_file()}
        kept = [path.name for path in Path(self.results).rglob("*") if path.is_file()]
        return facts.Files(
            copied=len(self.copied),
            read_in_training=len(self.read_in_training),
            results_written=len(self.results_written),
            wrote_checkpoints=sum(path.startswith(self.checkpoints) for path in self.written),
            left=sorted(left)[:100],
            kept=sorted(kept)[:100],
            overwritten=sorted(name for name, path in left.items() if path in self.written)[:100],
        )
