"""How long an ordinary user on a bare Debian 12 takes from a clone to the first lessons, with empty caches.

The system is Debian's minimal one and the packages that README.md names, made with mmdebstrap in a temporary folder of
about 5 GB. To download, apt, pip and uv are set up there as they are on this machine, and so are proxies. The path of
the course has blanks and umlauts, and that of the temporary folder is long, as a scheduler's may be.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import click

from course.steps import ROOT

PACKAGES = ["python3", "python3-pip", "g++", "make"]
COMMAND = ["scripts/run", "--steps", "0-1"]
HOME = Path("/home/learner")
COURSE = HOME / "ein Kurs für Anfänger"
TEMPORARY = HOME / "temporary-files-of-a-job" / ("0123456789" * 9)

_VARIABLES = re.compile(r"(PIP|UV|SSL|REQUESTS)_\w+|(https?|all|no)_proxy", re.IGNORECASE)
_FILES = ["/etc/hosts", "/etc/pip.conf", "/etc/uv/uv.toml", "/etc/ssl/certs/ca-certificates.crt"]
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
pivot_root . mnt
umount --lazy /mnt
cd "$1"; shift
setpriv --reuid learner --regid learner --init-groups --reset-env env "$@" && exit 0 || exit $?
"""


def measure() -> dict:
    """Return {"seconds", "setup_seconds", "passed", "packages"} of COMMAND; "passed" counts the lessons.

    Raises:
        click.ClickException: root's rights or mmdebstrap are missing.
    """
    if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
        raise click.ClickException("fresh has to be run as root, with mmdebstrap: apt-get install mmdebstrap")
    variables = {
        name: value
        for name, value in os.environ.items()
        if _VARIABLES.fullmatch(name) and not name.endswith("_CACHE_DIR")
    }
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "root"
        home, course = (Path(f"{root}{folder}") for folder in (HOME, COURSE))
        _make_system(root)
        for file in {*_FILES, *variables.values()}:
            if file.startswith("/"):
                _copy(Path(file), root / file[1:])
        for file in _OWN_FILES:
            _copy(Path.home() / file, home / file)
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, course], check=True)
        Path(f"{root}{TEMPORARY}").mkdir(parents=True)
        subprocess.run(["chroot", root, "chown", "--recursive", "learner:", HOME], check=True)
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", _ENTER, "enter", root, COURSE]
        settings = [f"{name}={value}" for name, value in (variables | {"TMPDIR": str(TEMPORARY)}).items()]
        began = time.time()
        subprocess.run([*enter, *settings, *COMMAND], check=True)
        seconds = time.time() - began
        made = (course / ".venv" / "made-from.cpu").stat().st_mtime
        summary = json.loads((course / "out" / "summary.json").read_text())
        return {
            "seconds": round(seconds, 1),
            "setup_seconds": round(made - began, 1),
            "passed": sum(notebook["status"] == "passed" for notebook in summary["notebooks"]),
            "packages": PACKAGES,
        }


def _make_system(root: Path) -> None:
    """Make the bare system, with a user named learner."""
    apt = root.with_name("apt.conf")
    apt.write_text(subprocess.check_output(["apt-config", "dump", "Acquire"], text=True))
    files = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.list")]
    files += Path("/etc/apt/sources.list.d").glob("*.sources")
    mirrors = [  # without any, mmdebstrap takes Debian's own
        file for file in files if file.is_file() and re.search(r"\bbookworm\b.*\bmain\b", file.read_text(), re.DOTALL)
    ]
    options = ["--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", f"--aptopt={apt}"]
    subprocess.run(["mmdebstrap", *options, "bookworm", root, *mirrors], check=True)
    subprocess.run(["chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", "learner"], check=True)


def _copy(file: Path, target: Path) -> None:
    """Copy a file, if it exists, to a folder that need not exist."""
    if file.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
