"""Linux namespaces and mounts: the system calls that Python 3.11 does not have.

Each function raises OSError with the kernel's reason. The process must have one thread only.
"""

import ctypes
import errno
import os
from pathlib import Path

# From <linux/sched.h>, <linux/mount.h>, <linux/prctl.h> and <asm/unistd_64.h>.
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_SLAVE = 2, 4, 8, 4096, 16384, 1 << 19
MNT_DETACH = 2
PR_SET_PDEATHSIG = 1
SYS_PIVOT_ROOT = 155

# What to do where namespaces are forbidden, for messages. docs/container.md explains the options of containers.
PERMIT = (
    "In a container, start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt "
    "systempaths=unconfined; with Podman, --security-opt unmask=ALL. Elsewhere, turn on user namespaces: "
    "docs/troubleshooting.md says how."
)

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(namespaces: int) -> None:
    """Move this process into new namespaces; of processes, only its children."""
    _check(_libc.unshare(namespaces), "unshare")


def unshare_user() -> None:
    """Move this process into a new user namespace, in which its user keeps its number and has all capabilities.

    Programs that it executes have none, unless that user is root.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def forbid_users() -> None:
    """Permit no user namespace inside of this process's."""
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


def setns(descriptor: int, kinds: int) -> None:
    """Move this process into the namespaces of these kinds that a file descriptor stands for, of a process or one."""
    _check(_libc.setns(descriptor, kinds), "setns")


def mount(source: str, target: str | Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system of a kind, or do to an existing mount what the flags say."""
    arguments = [part.encode() or None for part in (source, str(target), kind)]
    _check(_libc.mount(*arguments, ctypes.c_ulong(flags), options.encode() or None), f"mount on {target}")


def pivot_root(new: str, old: str) -> None:
    """Make a mount the root of this mount namespace, and attach the previous root in a folder of it."""
    _check(_libc.syscall(SYS_PIVOT_ROOT, new.encode(), old.encode()), f"pivot_root to {new}")


def detach(target: str) -> None:
    """Remove a mount, and those below it, from this mount namespace."""
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"umount of {target}")


def end_with_parent(signal: int) -> None:
    """Have the kernel send this process a signal when the thread that started it ends."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal), "prctl")


def _check(result: int, call: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        # unshare's way to say that no more namespaces are permitted has nothing to do with disks.
        full = number == errno.ENOSPC and call == "unshare"
        raise OSError(number, f"{call}: {'namespaces are limited to 0' if full else os.strerror(number)}")
