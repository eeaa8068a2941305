"""The program that launch and batch scripts start, grader.watchers.mpi_rank: what it is given, and what is seen of it.

Scripts can write where the program does, and texts of all kinds: what is read here may be anything.
"""

import ast
import contextlib
import filecmp
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil

from course.hosts import scripts
from course.hosts.cluster import Cluster
from grader.terms.watched_facts import SeenRank
from grader.watchers import mpi_rank

ARGUMENTS = ["--name", "two  words", "a;b", "$HOME"]
VARIABLES = "DATA", "CHECKPOINTS", "RUN", "SEED"  # that ranks are given
DATA = Path("/shared/the data")
FILES = {"images/first": "some images", "labels": "some labels"}
PATIENCE = 20  # seconds until all ranks are up, or until the script ends by itself
MOST = 100  # ranks that are noted, and checkpoints of one
LONGEST = 200  # characters of what is noted of a text
OUTPUT = 20_000  # characters that are kept of what a script prints


class Program:
    """The program on a cluster, with the data and a folder for its orders."""

    def __init__(self, cluster: Cluster, folder: str):
        """Write the data, and make the folder, below the shared one."""
        self.cluster, self.folder = cluster, cluster.shared / folder
        self.command = [sys.executable, mpi_rank.__file__, f"/shared/{folder}", *ARGUMENTS]
        self._seen: set[int] = set()  # processes of ranks
        for path, text in FILES.items():
            file = cluster.shared / DATA.name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.folder.mkdir()

    def order(self, what: str) -> None:
        """Tell the ranks how to continue. Where a script's own folder of that name is in the way, they never hear."""
        new = self.folder / "go.new"
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
            new.write_text(what)
            new.rename(new.with_suffix(""))

    def ready(self, run: int = 0) -> int | None:
        """Return how many ranks have exchanged data in a run of the job; None until all of them have."""
        sizes = [text(path) for path in self.folder.glob(f"ready-{run}-*")]
        return len(sizes) if set(sizes) == {str(len(sizes))} else None  # each of them names this size of the job

    def new_ranks(self) -> list[SeenRank]:
        """Return the ranks that were not seen before."""
        found = []
        for host, process in processes(self.cluster):
            with contextlib.suppress(psutil.Error, OSError):  # it has ended
                words = process.cmdline()
                known = process.pid in self._seen or len(self._seen) >= MOST
                if words[1:3] == self.command[1:3] and not known:
                    found.append(self._rank(host, process, words[3:]))
                    self._seen.add(process.pid)
        return found

    def _rank(self, host: str, process: psutil.Process, words: list[str]) -> SeenRank:
        """Return what a rank was given, by its process.

        Raises:
            psutil.Error, OSError: it has ended.
        """
        environment = process.environ()
        given = {name: environment[name] for name in VARIABLES if name in environment}
        folder, run = os.path.normpath(given.get("CHECKPOINTS", "")), environment.get("SLURM_RESTART_COUNT", "0")
        files = sorted(Path(f"/proc/{process.pid}/root/{folder}").glob(f"{mpi_rank.CHECKPOINT}*"))
        earlier = [file.name for file in files if not re.fullmatch(rf"{mpi_rank.CHECKPOINT}{run}(-asked)?", file.name)]
        return SeenRank(
            host,
            [short(word) for word in words[: 2 * len(ARGUMENTS)]],
            {name: short(text) for name, text in given.items()},
            self._copied(process, given.get("DATA", "")),
            [short(name) for name in earlier[:MOST]],
        )

    def _copied(self, process: psutil.Process, data: str) -> str:
        """Return whose the data are that a rank is pointed to: see SeenRank.

        Raises:
            OSError: it has ended.
        """
        root = Path(f"/proc/{process.pid}/root")
        place = Path(f"{root}{data}")
        _, different, missing = filecmp.cmpfiles(place, self.cluster.shared / DATA.name, list(FILES), shallow=False)
        if different or missing:
            return "none"
        return "own" if place.stat().st_dev == Path(f"{root}/scratch").stat().st_dev else "shared"


def syntax(script: Path) -> str:
    """Return what bash or Python says of a script before it runs, if it is not valid."""
    if scripts.interpreter(script) == "python":
        try:
            ast.parse(script.read_bytes())
        except SyntaxError as error:
            line = f"line {error.lineno}: " if error.lineno else ""
            return f"{script.name}: {line}SyntaxError: {error.msg}"[:1000]
        except (ValueError, MemoryError, RecursionError) as error:
            return f"{script.name}: SyntaxError: {error}"[:1000]
        return ""
    said = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False).stderr
    return said.replace(str(script), script.name)[:1000]


def text(path: Path) -> str:
    """Return the text of a file, or nothing where no file can be read."""
    with contextlib.suppress(OSError):
        return path.read_text(errors="replace") if path.is_file() else ""
    return ""


def short(text: str) -> str:
    """Return the beginning of a text, without halves of characters."""
    return text[:LONGEST].encode(errors="replace").decode()


def has_data(folder: Path) -> bool:
    """Return whether a file below a folder has the text of one of the data's files in it, be it an archive."""
    paths = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    texts = (text(path) for path in paths if not path.is_symlink())
    return any(own in found for found in texts for own in FILES.values())


def received(cluster: Cluster) -> Counter[str]:
    """Return the bytes that all hosts which are up, but the head, have received so far, by interface."""
    found = Counter[str]()
    for host in cluster.processes().keys() & cluster.hosts:
        found.update(cluster.received(host))
    return found


def processes(cluster: Cluster) -> Iterator[tuple[str, psutil.Process]]:
    """Give all processes of the hosts that are up, with the name of their host."""
    for host, those in cluster.processes().items():
        for process in those:
            yield host, process
