"""A bare Debian 12 in a folder, made with mmdebstrap, and commands that run in it as on a machine of its own.

To download, apt, pip and uv are set up there as they are on this machine, and so are proxies.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

_VARIABLES = re.compile(r"(PIP|UV|SSL|REQUESTS)_\w+|(https?|all|no)_proxy", re.IGNORECASE)
_FILES = ["/etc/hosts", "/etc/resolv.conf", "/etc/pip.conf", "/etc/uv/uv.toml", "/etc/ssl/certs/ca-certificates.crt"]
_OWN_FILES = [".config/pip/pip.conf", ".config/uv/uv.toml"]

# It calls pivot_root because the kernel lets no process in a chroot make user namespaces, which the judge's sandbox
# needs. The shell stays the first process of the PID namespace because that one has to reap orphans.
_ENTER = """
set -e
cd "$1"; shift
mount --bind . .
cd "$PWD"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs dev/shm
eval "$1"; shift
pivot_root . mnt
umount --lazy /mnt
cd "$1"; shift
user=$1; shift
setpriv --reuid "$user" --regid "$user" --init-groups --reset-env env "$@" && exit 0 || exit $?
"""


def lacking() -> str | None:
    """Return None where a bare system can be made, and otherwise what is missing."""
    if os.geteuid() == 0 and shutil.which("mmdebstrap"):
        return None
    return "needs root's rights and mmdebstrap: apt-get install mmdebstrap"


def make(root: Path, packages: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> None:
    """Make the system in a folder that does not exist yet.

    Args:
        root: the folder.
        packages: Debian's packages that it has besides the minimal ones.
        environment: this machine's environment variables.
    """
    apt = root.with_name("apt.conf")
    apt.write_text(subprocess.check_output(["apt-config", "dump", "Acquire"], text=True))
    files = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.list")]
    files += Path("/etc/apt/sources.list.d").glob("*.sources")
    mirrors = [  # without any, mmdebstrap takes Debian's own
        file for file in files if file.is_file() and re.search(r"\bbookworm\b.*\bmain\b", file.read_text(), re.DOTALL)
    ]
    options = ["--quiet", "--variant=minbase", f"--aptopt={apt}"]
    if packages:
        options.append(f"--include={','.join(packages)}")
    subprocess.run(["mmdebstrap", *options, "bookworm", root, *mirrors], env=environment, check=True)


def settings(root: Path, home: PurePosixPath, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Give the system this machine's settings for downloads, and return the environment variables that belong to them.

    Args:
        root: the system's folder.
        home: of the user who downloads, as a path in the system. New folders in it belong to root.
        environment: this machine's environment variables.
    """
    variables = {
        name: value
        for name, value in environment.items()
        if _VARIABLES.fullmatch(name) and not name.endswith("_CACHE_DIR")
    }
    for file in {*_FILES, *variables.values()}:
        if file.startswith("/"):
            _copy(Path(file), root / file[1:])
    for file in _OWN_FILES:
        _copy(Path.home() / file, Path(f"{root}{home}", file))
    return variables


def command(
    root: Path,
    folder: PurePosixPath,
    user: str,
    variables: Mapping[str, str],
    words: Sequence[str],
    before: str = "",
    namespaces: Sequence[str] = (),
) -> list[str]:
    """Return the command line of a command in the system. All of its processes end with it.

    Args:
        root: the system's folder.
        folder: to start in, as a path in the system.
        user: its name, which is its group's, too.
        variables: its environment variables, besides those that a login sets.
        words: the command.
        before: shell commands of this machine that root runs in the system's folder, before it becomes the root.
        namespaces: options of unshare, for namespaces besides those of mounts and processes.
    """
    unshare = ["unshare", "--mount", "--pid", *namespaces, "--fork", "--kill-child"]
    values = [f"{name}={value}" for name, value in variables.items()]
    return [*unshare, "bash", "-c", _ENTER, "enter", str(root), before, str(folder), user, *values, *words]


def _copy(file: Path, target: Path) -> None:
    """Copy a file, if it exists, to a folder that need not exist."""
    if file.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
