"""The file systems of the hosts: the machine's own files, and in memory what the hosts add to them.

All hosts see the machine's files as they are: the course, its environment, home. The folders in layout.py are added.
They exist in the hosts' mount namespaces only, so nothing of them is left on the machine's disks, whatever is killed.
"""

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from course.hosts import ssh
from course.hosts.layout import DATA, HOSTFILE, MANAGEMENT, NAMES, PROGRAMS, SCRATCH, SHARED, numbers
from course.internal import namespaces
from course.internal.namespaces import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_REC, MS_SLAVE

OPEN = "mode=1777"  # to every user, like /tmp
LARGEST = "512m"  # size of what all hosts share. It is memory.

_STAGE, _OLD = "/tmp", "old"


def make_root(slots: Mapping[str, int]) -> None:
    """Give this process a mount namespace whose root has the machine's files and the hosts' shared folders.

    Args:
        slots: of each host but the head, for the hostfile.
    """
    namespaces.unshare(namespaces.CLONE_NEWNS)
    namespaces.mount("", "/", flags=MS_SLAVE | MS_REC)  # no mount made here shows outside
    _replace_root()
    for folder, mode in ((SHARED, 0o1777), (SCRATCH, 0o755), (PROGRAMS, 0o755)):
        folder.mkdir(parents=True)
        folder.chmod(mode)
    program = PROGRAMS / "ssh"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{ssh.__file__}" "$@"\n')
    program.chmod(0o755)
    HOSTFILE.write_text("".join(f"{name} slots={number}\n" for name, number in slots.items()))
    NAMES.write_text(_names(numbers(slots)))
    namespaces.mount(str(NAMES), "/etc/hosts", flags=MS_BIND)


def mount_own(disk: str) -> None:
    """Mount what a host has to itself, in its first process: its disk, shared memory, and table of processes.

    Args:
        disk: the size of its disk as tmpfs takes it, such as "64m".
    """
    namespaces.unshare(namespaces.CLONE_NEWNS)
    namespaces.mount("scratch", SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV, f"size={disk},{OPEN}")
    namespaces.mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"size={disk},{OPEN}")
    namespaces.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    with contextlib.suppress(OSError):  # a container may forbid it; then /sys lists the machine's interfaces
        _show_own_interfaces()


def hide_shared() -> None:
    """Mount an empty folder over the shared one, in this process's mount namespace."""
    namespaces.mount("hidden", SHARED, "tmpfs", MS_NOSUID | MS_NODEV, f"size=1m,{OPEN}")


def show_shared() -> None:
    """Undo hide_shared(), as often as it was called."""
    while SHARED.is_mount():
        namespaces.detach(str(SHARED))


def _show_own_interfaces() -> None:
    """Have /sys list the interfaces of this host; the rest of it stays the machine's, control groups included."""
    namespaces.mount("sysfs", SCRATCH, "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    try:
        for folder in ("class/net", "devices/virtual/net"):
            namespaces.mount(f"{SCRATCH}/{folder}", f"/sys/{folder}", flags=MS_BIND)
    finally:
        namespaces.detach(str(SCRATCH))


def _replace_root() -> None:
    """Make a file system in memory the root, and attach in it what the machine's root has."""
    namespaces.mount("cluster", _STAGE, "tmpfs", MS_NOSUID | MS_NODEV, f"mode=755,size={LARGEST}")
    Path(_STAGE, _OLD).mkdir()
    namespaces.pivot_root(_STAGE, f"{_STAGE}/{_OLD}")
    os.chdir("/")
    for entry in Path("/", _OLD).iterdir():
        place = Path("/", entry.name)
        if entry.is_symlink():
            place.symlink_to(entry.readlink())
            continue
        if entry.is_dir():
            place.mkdir(exist_ok=True)
        else:
            place.touch()
        namespaces.mount(str(entry), place, flags=MS_BIND | MS_REC)
    namespaces.detach(f"/{_OLD}")
    Path("/", _OLD).rmdir()


def _names(numbers: Mapping[str, int]) -> str:
    """Return the lines of /etc/hosts: a host's name stands for its address in the data network."""
    lines = ["127.0.0.1 localhost"]
    for name, number in numbers.items():
        lines += [f"{DATA.address(number)} {name}", f"{MANAGEMENT.address(number)} {name}-{MANAGEMENT.name}"]
    return "\n".join(lines) + "\n"
