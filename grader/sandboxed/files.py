"""Which files a rank opens: in the store that the data come from, in the folder of results, and as checkpoints.

Python reports every file that it opens or renames to an audit hook (PEP 578). HDF5 and TensorFlow open and rename files
by themselves, so their functions are watched, too.
"""

import contextlib
import functools
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator
from tensorflow.python.lib.io import file_io
from tensorflow.python.ops import gen_io_ops

from course import store
from course.record import calls
from grader.terms import facts
from grader.terms.clusters import CHECKPOINT, Folders, Found

MOST = 100  # names of each kind that are reported

REMOVALS = {"os.remove", "os.rmdir", "os.rename", "os.truncate", "shutil.rmtree"}  # events; the path comes first

SLOWNESS = 0.02  # seconds that each file of the store takes longer: a rank that does not wait gets ahead of the copy


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


class WatchedFiles:
    """Watches the files of one rank; facts() is what it saw."""

    def __init__(self, folders: Folders):
        """Watch these folders, which are named as the script's arguments name them."""
        self.store, self.results, self.logs, self.cache = (
            os.path.abspath(folder)  # noqa: PTH100  resolve() would itself open what the hook reports
            for folder in (folders.store, folders.results, folders.logs, folders.cache)
        )
        self.training = False
        self.copied: set[str] = set()
        self.read_in_training: set[str] = set()
        self.results_written: set[str] = set()
        self.removed: set[str] = set()
        self.cached: int | None = None
        self.store_errors: list[str] = []
        self.wrote: list[str] = []  # checkpoints that training opened for writing, by their paths below --log-dir,
        self.renamed: list[str] = []  # and those that were renamed to these
        self.seen: dict[str, tuple[int, int]] = {}  # by path, a checkpoint that was there: inode and time

    def find(self, host: int, found: Found) -> None:
        """Put what the program is to find on a host into the folder for logs, newer than all that is there."""
        if host:
            Path(self.logs).mkdir(exist_ok=True)
            for name in found.leftovers:
                Path(self.logs, f"{CHECKPOINT}{name}.h5").touch(mode=0)  # of another run, and not this rank's to read
            return
        for epochs, name in found.copies:
            for path in sorted(files_below(self.logs)):
                if re.fullmatch(rf"{CHECKPOINT}{epochs}(\.\w+)?", path.name):
                    shutil.copyfile(path, path.with_name(path.name.replace(str(epochs), str(name), 1)))

    def watch(self) -> None:
        """Begin."""
        sys.addaudithook(self._heard)
        for kind in (h5py.File, file_io.FileIO):
            calls.before(kind, "__init__", self._opened)
        for name, mode in {"read_file": "r", "write_file": "w"}.items():
            calls.before(gen_io_ops, name, functools.partial(self._opened_by_operation, mode))
        for name in ("remove", "rmtree"):
            calls.before(tf.io.gfile, name, lambda path: self._heard("os.remove", (path,)))
        calls.after(tf.io.gfile, "copy", self._copied)
        calls.before(tf.io.gfile, "rename", lambda src, dst, overwrite=False: self._note_rename(dst))
        calls.before(ImageDataGenerator, "flow_from_directory", lambda *args, **kwargs: self._count_copy())
        store.download = self._download(store.download)

    def train(self, fit: facts.Fit) -> None:
        """Note what this training does to checkpoints."""
        self.training = True
        self._count_copy()
        self.wrote, self.renamed = fit.wrote, fit.renamed
        self.seen = self._checkpoints()

    def new_checkpoints(self) -> list[str]:
        """Return the names of checkpoints that are new, or have been replaced, since this was last asked."""
        before, self.seen = self.seen, self._checkpoints()
        return sorted(name for name, state in self.seen.items() if before.get(name) != state)[:MOST]

    def _checkpoints(self) -> dict[str, tuple[int, int]]:
        """Return what all checkpoints are now: files, or the folders of TensorFlow's format."""
        states = {}
        for folder, folders, names in os.walk(self.logs):
            for name in (*folders, *names):
                if name.startswith(CHECKPOINT):
                    with contextlib.suppress(FileNotFoundError):  # another rank of this host may just have removed it
                        state_path = Path(folder, name)
                        state = state_path.lstat()
                        states[os.path.relpath(state_path, self.logs)] = state.st_ino, state.st_mtime_ns
        return states

    def _note_rename(self, target: object) -> None:
        path = _path(target)
        if path and self._is_checkpoint(path) and len(self.renamed) < MOST:
            self.renamed.append(os.path.relpath(path, self.logs))

    def _is_checkpoint(self, path: str) -> bool:
        return path.startswith(self.logs + os.sep) and f"{os.sep}{CHECKPOINT}" in path.removeprefix(self.logs)

    def _opened(self, file: object, name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> None:
        self._note(name, mode, 0)

    def _opened_by_operation(self, mode: str, filename: Any, *args: Any, **kwargs: Any) -> None:
        """Note that an operation of TensorFlow reads or writes a whole file, perhaps in the graph of a data set."""
        tf.numpy_function(lambda path: self._note(path, mode, 0), [filename], [])

    def _copied(self, src: Any, dst: Any, overwrite: bool = False) -> None:
        """Note a copy that TensorFlow made, which opens its files outside of Python."""
        self._note(src, "r", 0)
        self._note(dst, "w", 0)

    def _download(self, download: Callable[..., None]) -> Callable[..., None]:
        def watched(*args: Any, **kwargs: Any) -> None:
            try:
                download(*args, **kwargs)
            except store.StoreError as error:
                self.store_errors.append(str(error)[:1000])
                raise

        return watched

    def _count_copy(self) -> None:
        """Count the images of the host's copy, when the rank first needs them."""
        if self.cached is None:
            self.cached = sum(path.suffix == ".png" for path in files_below(self.cache))

    def _heard(self, event: str, details: tuple[Any, ...]) -> None:
        if event == "open":
            self._note(*details)
        elif event in REMOVALS:
            path = _path(details[0])
            if path and f"{path}{os.sep}".startswith(self.store + os.sep):
                self.removed.add(path)
        if event == "os.rename":  # of os.replace, too
            self._note_rename(details[1])

    def _note(self, opened: object, mode: str | None, flags: int) -> None:
        path = _path(opened)
        if not path:
            return
        writes = bool(set(mode or "") & set("wax+")) or bool(flags & (os.O_WRONLY | os.O_RDWR))
        if writes:
            name = os.path.relpath(path, self.logs)
            if self.training and self._is_checkpoint(path) and name not in self.wrote and len(self.wrote) < MOST:
                self.wrote.append(name)
            if path.startswith(self.results + os.sep):
                self.results_written.add(path)
            if path.startswith(self.store + os.sep):
                self.removed.add(path)
        elif path.startswith(self.store + os.sep):
            if self.training:
                self.read_in_training.add(path)
            elif path not in self.copied:
                self.copied.add(path)
                time.sleep(SLOWNESS)

    def facts(self) -> facts.Files:
        """Return what this rank opened."""
        return facts.Files(
            copied=len(self.copied),
            cached=self.cached,
            read_in_training=len(self.read_in_training),
            results_written=len(self.results_written),
            removed=len(self.removed),
            store_errors=self.store_errors[:3],
        )


def _path(of: object) -> str | None:
    """Return the path that a file is opened by, which may be TensorFlow's URL of it; None where it is open already."""
    if not isinstance(of, str | bytes | os.PathLike):
        return None
    return os.path.abspath(os.fsdecode(of).removeprefix("file://"))  # noqa: PTH100
