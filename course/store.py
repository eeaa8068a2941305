"""Copy folders between this machine and a store: a folder, S3, or any other store that fsspec supports.

A URL is a path, file:///path, s3://bucket/path, … Keys and addresses of a store come from the environment, as its own
library reads them (for S3: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL).
"""

import os
import re
import shutil
import socket
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import fsspec
import psutil
from fsspec.implementations.local import LocalFileSystem
from fsspec.utils import get_protocol
from tqdm import tqdm

AT_ONCE = 16  # files copied at the same time: for small files, most of the time is spent waiting for the store

MARK = ".copied-from"  # a folder with this file was made by download(), which may replace it

# If the store does not answer, ranks that wait for data fail within seconds, without minutes of retries.
OPTIONS = {"s3": {"config_kwargs": {"retries": {"max_attempts": 1}}}}

# Advice for errors whose messages give none, by the name of their class: each store's library has classes of its own.
_KEYS = "Check the store's keys (for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY) and what they allow."
_ADDRESS = "Check the network, and the store's address (for S3: AWS_ENDPOINT_URL)."
_CURES = {
    "PermissionError": _KEYS,
    "NoCredentialsError": _KEYS,
    "EndpointConnectionError": _ADDRESS,
    "ConnectTimeoutError": _ADDRESS,
    "ReadTimeoutError": _ADDRESS,
}


class StoreError(Exception):
    """A folder could not be copied; the message says which, where to, and why."""


def download(url: str, folder: str | Path, progress: bool = True) -> None:
    """Copy all files below a URL into a folder, which appears only once all of them have arrived.

    A folder that an earlier download made is replaced.

    Args:
        url: the source.
        folder: the destination on this machine; parent folders are created.
        progress: whether to show a bar, in bytes.

    Raises:
        StoreError: the source is empty, the store refuses, a file arrives incomplete, the disk is too small, or the
            folder holds other files. The folder is unchanged then.
    """
    folder = Path(folder).resolve()
    arriving = _arriving(folder)
    replaced = folder.with_name(f"{arriving.name}.replaced")
    try:
        store, root = _store(url)
        sizes = _sizes(store, root)
        _check(sizes, root, folder)
        _remove_leftovers(folder)
        arriving.mkdir(parents=True)
        needed, free = sum(sizes.values()), shutil.disk_usage(arriving).free
        if needed > free:
            raise OSError(f"it has {needed:,} bytes, and there is room for {free:,} in {folder.parent}")

        def fetch(path: str) -> None:
            _fetch(store, path, arriving / path.removeprefix(root).lstrip("/"), sizes[path])

        _copy_all(fetch, sizes, f"from {url}", progress)
        (arriving / MARK).write_text(f"{url}\n")
        with suppress(FileNotFoundError):
            folder.replace(replaced)
        arriving.replace(folder)
    except Exception as error:  # of whatever kind a store's library has
        raise StoreError(f"{url} could not be copied to {folder}: {_said(error)}") from error
    finally:
        if replaced.exists() and not folder.exists():
            replaced.replace(folder)
        shutil.rmtree(arriving, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)


def _check(sizes: dict[str, int], root: str, folder: Path) -> None:
    """Raise an OSError unless root is a folder with these files, which may replace a folder of this machine."""
    if not sizes:
        raise FileNotFoundError("nothing is there. Check the URL")
    if root in sizes:
        raise NotADirectoryError("it is a file. Name the folder that it is in")
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise FileExistsError("that folder holds files that no download put there. Name a new or an empty one")


def _fetch(store: fsspec.AbstractFileSystem, path: str, target: Path, size: int) -> None:
    """Copy a file of this size from a store, or raise an OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        store.get_file(path, str(target))
    except FileNotFoundError as error:
        raise FileNotFoundError("it was there when the copy began, and is not any more") from error
    if target.stat().st_size != size:
        raise OSError(f"{target.stat().st_size:,} of its {size:,} bytes arrived")


def upload(folder: str | Path, url: str, progress: bool = True) -> None:
    """Copy all files of a folder to a URL. Other files there are kept, and no file ever appears incomplete.

    Args:
        folder: the source on this machine.
        url: the destination.
        progress: whether to show a bar, in bytes.

    Raises:
        StoreError: there is no such folder, the store refuses, or a file cannot be copied.
    """
    folder = Path(folder)
    try:
        store, root = _store(url)
        if not folder.is_dir():
            raise NotADirectoryError("there is no such folder")

        def send(path: str) -> None:
            target = f"{root.rstrip('/')}/{Path(path).relative_to(folder).as_posix()}"
            if not isinstance(store, LocalFileSystem):  # a store shows a file once it is whole
                return store.put_file(path, target)
            partial = Path(f"{target}.arriving")
            partial.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copyfile(path, partial)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)

        _copy_all(send, _local_sizes(folder), f"to {url}", progress)
    except Exception as error:  # of whatever kind a store's library has
        raise StoreError(f"{folder} could not be copied to {url}: {_said(error)}") from error


def _store(url: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the store of a URL, and the path in it.

    The store is a new object each time: fsspec's cached ones remember earlier listings, and the keys of their creation.
    """
    if not url:
        raise ValueError("no URL is given")
    return fsspec.url_to_fs(url, skip_instance_cache=True, **OPTIONS.get(get_protocol(url), {}))


def _sizes(store: fsspec.AbstractFileSystem, root: str) -> dict[str, int]:
    """Return all files below a path in a store, or only the path if it is a file, with their sizes in bytes."""
    if isinstance(store, LocalFileSystem):
        return _local_sizes(root)
    return {path: entry["size"] for path, entry in store.find(root, detail=True).items()}


def _local_sizes(root: str | Path) -> dict[str, int]:
    """Return the same for a path on this machine. Links to folders are followed, since data sets are often linked."""
    if Path(root).is_file():
        return {str(root): Path(root).stat().st_size}
    files = (Path(folder, name) for folder, _, names in os.walk(root, followlinks=True) for name in names)
    return {str(path): path.stat().st_size for path in files if path.name != MARK}


def _arriving(folder: Path) -> Path:
    """Return the folder, next to the destination, in which this process collects arriving files."""
    return folder.with_name(f".{folder.name}.{socket.gethostname()}.{os.getpid()}")


def _remove_leftovers(folder: Path) -> None:
    """Remove files that killed processes of this host had collected: hidden, they would fill the disk."""
    collected = re.compile(rf"{re.escape(_arriving(folder).stem)}\.(\d+)(\.replaced)?")
    for path in folder.parent.iterdir() if folder.parent.is_dir() else ():
        match = collected.fullmatch(path.name)
        if match and (int(match[1]) == os.getpid() or not psutil.pid_exists(int(match[1]))):
            shutil.rmtree(path, ignore_errors=True)


def _copy_all(copy: Callable[[str], None], sizes: dict[str, int], what: str, progress: bool) -> None:
    """Copy files, several at a time, and stop at the first failure."""
    bar = tqdm(total=sum(sizes.values()), desc=what, unit="B", unit_scale=True, disable=not progress)
    with bar, ThreadPoolExecutor(AT_ONCE) as threads:
        copies = threads.map(copy, sizes)
        try:
            for path, size in sizes.items():
                try:
                    next(copies)
                except Exception as error:
                    raise StoreError(f"{path}: {_said(error)}") from error
                bar.update(size)
        finally:
            threads.shutdown(cancel_futures=True)


def _said(error: Exception) -> str:
    """Return an error's message in one line, with advice if the message gives none."""
    if isinstance(error, StoreError):
        return str(error)
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    words = textwrap.shorten(re.sub(r'\?[^\s"]*', "", words), 200, placeholder=" …").rstrip(".")
    if isinstance(error, OSError) and error.errno:  # of this machine, not of a store
        return f"{words}: {error.filename}." if error.filename else f"{words}."
    return f"{words}. {_CURES.get(type(error).__name__, '')}".rstrip()
