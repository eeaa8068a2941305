"""Which files a rank opens: in the store that the data come from, in the folder of results, and as checkpoints.

Used by grader.probe, in a process that will run nothing but one script. Python reports every file that it opens to an
audit hook (PEP 578); HDF5 opens its files by itself, so h5py is asked.
"""

import os
import sys
import time
from pathlib import Path

import h5py

SLOWNESS = 0.02  # seconds that each file of the store takes longer: who does not wait for the data gets there first


class Files:
    """Watches one rank; facts() is what it saw."""

    def __init__(self, arguments: list[str]):
        """Watch the folders that a script is told in its arguments."""
        told = dict(zip(arguments[::2], arguments[1::2], strict=True))
        self.store, self.results, self.logs = (
            os.path.abspath(told[flag])  # noqa: PTH100  resolve() would itself open what the hook reports
            for flag in ("--data-url", "--train-url", "--log-dir")
        )
        self.checkpoints = f"{self.logs}{os.sep}checkpoint-"  # what the paths of checkpoints begin with
        self.training = False
        self.copied, self.read_in_training, self.results_written, self.written = set(), set(), set(), set()

    def watch(self) -> None:
        """Begin."""
        sys.addaudithook(lambda event, details: self._note(*details) if event == "open" else None)
        init = h5py.File.__init__

        def watched(file, name, mode="r", *args, **kwargs):
            self._note(name, mode, 0)
            init(file, name, mode, *args, **kwargs)

        h5py.File.__init__ = watched

    def _note(self, path, mode: str | None, flags: int) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
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

    def facts(self) -> dict:
        """Return what this rank opened, and what there is in its host's folders now.

        {"copied", "read_in_training", "results_written", "wrote_checkpoints": numbers of files, "left", "kept": names
        of the files among the logs and the results, "overwritten": names of those among the logs that were written to
        under their own}
        """
        left = {str(path.relative_to(self.logs)): str(path) for path in Path(self.logs).rglob("*") if path.is_file()}
        kept = [path.name for path in Path(self.results).rglob("*") if path.is_file()]
        return {
            "copied": len(self.copied),
            "read_in_training": len(self.read_in_training),
            "results_written": len(self.results_written),
            "wrote_checkpoints": sum(path.startswith(self.checkpoints) for path in self.written),
            "left": sorted(left)[:100],
            "kept": sorted(kept)[:100],
            "overwritten": sorted(name for name, path in left.items() if path in self.written)[:100],
        }
