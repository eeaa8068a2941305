"""The program that launch and batch scripts start, grader.watchers.mpi_rank: what it is given, and what is seen of it.

Scripts can write where the program does, and texts of all kinds: what is read here may be anything.
"""

import contextlib
import filecmp
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from course.hosts.cluster import Cluster
from grader.watchers import mpi_rank

ARGUMENTS = ["--name", "two  words", "a;b", "$HOME"]
DATA = Path("/shared/the data")
FILES = {"images/first": "some images", "labels": "some labels"}
PATIENCE = 20  # seconds until all ranks are up, or until the script ends by itself
GO = "go"
MOST = 100  # ranks that are noted, and checkpoints of one
LONGEST = 200  # characters of what is noted of a text


def provide(cluster: Cluster, folder: str) -> None:
    """Write the data, and make the folder below the shared one that the ranks get their order in."""
    for path, text in FILES.items():
        file = cluster.shared / DATA.name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (cluster.shared / folder).mkdir()


def command(folder: str) -> list[str]:
    """Return the program with its arguments."""
    return [sys.executable, mpi_rank.__file__, f"/shared/{folder}", *ARGUMENTS]


def order(cluster: Cluster, folder: str, what: str) -> None:
    """Tell the ranks how to continue. Where a script's own folder of that name is in the way, they never hear."""
    new = cluster.shared / folder / f"{GO}.new"
    with contextlib.suppress(OSError):
        new.unlink(missing_ok=True)
        new.write_text(what)
        new.rename(new.with_suffix(""))


def ready(cluster: Cluster, folder: str, run: int = 0) -> int | None:
    """Return how many ranks have exchanged data in a run of the job; None until all of them have."""
    sizes = [text(path) for path in (cluster.shared / folder).glob(f"ready-{run}-*")]
    return len(sizes) if set(sizes) == {str(len(sizes))} else None  # each of them names this size of the job


def digest(cluster: Cluster, folder: str, run: int) -> str:
    """Return the digest of rank 0's secret in a run, and remove it: no later run is to find it."""
    file = cluster.shared / folder / f"digest-{run}"
    found = text(file)[: mpi_rank.DIGITS]
    with contextlib.suppress(OSError):
        file.unlink()
    return found


def text(path: Path) -> str:
    """Return the text of a file, or nothing where no file can be read."""
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace") if path.is_file() else ""
    return ""


def short(text: str) -> str:
    """Return the beginning of a text, without halves of characters."""
    return text[:LONGEST].encode(errors="replace").decode()


def arguments_of_rank(process: psutil.Process, folder: str) -> list[str] | None:
    """Return the arguments of a process that is a rank; None where it is none.

    Raises:
        psutil.Error: it has ended.
    """
    words = process.cmdline()
    return words[3:] if words[1:3] == [mpi_rank.__file__, f"/shared/{folder}"] else None


def copied(process: psutil.Process, data: str, cluster: Cluster) -> str:
    """Return whose the data are that a rank is pointed to: "own" of its host, "shared", or "none" or other ones.

    Raises:
        OSError: it has ended.
    """
    if not data:
        return "none"
    root = Path(f"/proc/{process.pid}/root")
    place = Path(f"{root}{data}")
    _, different, missing = filecmp.cmpfiles(place, cluster.shared / DATA.name, list(FILES), shallow=False)
    if different or missing:
        return "none"
    return "own" if place.stat().st_dev == Path(f"{root}/scratch").stat().st_dev else "shared"


def has_data(folder: Path) -> bool:
    """Return whether a file below a folder has the text of one of the data's files in it, or cannot be read."""
    closed: list[OSError] = []
    paths = [Path(place, name) for place, _, names in os.walk(folder, onerror=closed.append) for name in names]
    return any(map(_has_data, paths)) or any(not isinstance(error, FileNotFoundError) for error in closed)


def _has_data(path: Path) -> bool:
    try:
        found = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(text.encode() in found for text in FILES.values())


def received(cluster: Cluster, hosts: Iterable[str]) -> Counter[str]:
    """Return the bytes that these hosts have received so far, by interface."""
    found = Counter[str]()
    for host in hosts:
        found.update(cluster.received(host))
    return found


def processes(cluster: Cluster) -> Iterator[tuple[str, psutil.Process]]:
    """Give all processes of the hosts that are up, with the name of their host."""
    for host, those in cluster.processes().items():
        for process in those:
            yield host, process
