"""What the disks of a cluster's hosts hold once all of its ranks have ended: looked at from outside of the ranks.

The supervisor calls this. What it says rests on no rank's word.
"""

import contextlib
import os
import signal
import stat
from pathlib import Path

import msgspec

from grader.terms.clusters import LOGS, AnyCluster
from grader.terms.facts import Disk, Save

MOST = 1000  # files of a host that are listed, those of the folder for logs first
LONGEST = 10  # seconds that reading a checkpoint may take


def look(folder: Path, cluster: AnyCluster) -> list[Disk]:
    """Return what the disk of each host holds.

    Args:
        folder: of the cluster, with a folder for each host.
        cluster: whose ranks have all ended.
    """
    disks = []
    for host in range(cluster.hosts):
        root = folder / f"host-{host}"
        checkpoint = _newest(root / LOGS / "checkpoints") if cluster.tasks else None
        disks.append(Disk(_files(root), checkpoint))
    return disks


def _files(root: Path) -> dict[str, int]:
    """Return the size of each regular file below a folder, in bytes, by its path there; not of more than MOST files."""
    sizes: dict[str, int] = {}
    for top in (root / LOGS, root):
        with contextlib.suppress(RecursionError):  # folders in folders in folders
            for where, _, names in os.walk(top):
                for path in (Path(where, name) for name in names):
                    if len(sizes) == MOST:
                        return sizes
                    with contextlib.suppress(OSError):  # a path that is too long, or of what has just been removed
                        state = path.lstat()
                        if stat.S_ISREG(state.st_mode):
                            sizes[os.fsencode(path.relative_to(root)).decode(errors="replace")] = state.st_size
    return sizes


def _newest(folder: Path) -> Save | None:
    """Return the newest checkpoint in a folder as TensorFlow finds it, or None.

    A process of its own reads it: what a script has written may end or stop the one that does.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        if not all(entry.is_file() or entry.is_dir() for entry in entries):  # a pipe: who opens it waits
            return None
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(Exception):
            signal.alarm(LONGEST)
            os.write(write, msgspec.json.encode(_read(folder)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return msgspec.json.decode(answer, type=Save | None) if answer else None


def _read(folder: Path) -> Save | None:
    """Return the newest checkpoint in a folder, and how many steps it has behind it."""
    import tensorflow as tf  # which the fork server has imported

    newest = tf.train.latest_checkpoint(folder)
    for name, _ in tf.train.list_variables(newest) if newest else ():
        if "iter" in name.partition("/.ATTRIBUTES")[0].rpartition("/")[2]:
            return Save(newest, int(tf.train.load_variable(newest, name)))
    return None
