"""The sandbox for scripts on several hosts: like that of grader.sandbox.policy, with these differences.

User namespaces are permitted, which hosts consist of; there is no network but what the watcher makes; and more of the
system and of the project can be read.
"""

import os
import threading
from pathlib import Path

from course.steps import ROOT
from grader.sandbox import policy, surroundings

# Of the project's own code: what makes hosts, and what watches them.
READABLE = (
    *("course", "grader/__init__.py", "grader/terms", "grader/watchers"),
    *("grader/sandbox/__init__.py", "grader/sandbox/limits.py", "grader/sandbox/surroundings.py"),
    "hunt",
    *("solutions/hosts/discover.sh", "solutions/hosts/launch_elastic.sh"),  # which learners are given
    "solutions/fashion_mnist_after_step_06.py",  # which step 24 begins with
)
PIDS = 2**22  # numbers that processes and threads may have, at most
SYSTEM = "/usr/sbin", "/sbin"  # programs that hosts need besides
ALTERNATIVES = "/etc/alternatives"  # symbolic links on the way to programs such as awk


def command(folder: Path, number: int, data_folder: Path) -> list[str]:
    """Return the command line, up to the program inside, of a sandbox in which this folder can be read.

    As root, one bubblewrap shows the files, which another user may have no way to, and a second one, started by that
    user, makes the namespaces: hosts are then that user's.
    """
    own = policy.FIRST_USER + threading.get_native_id() + number * PIDS
    user = own if os.geteuid() == 0 else os.geteuid()
    etc = _etc(folder / "etc", user)
    folder.chmod(0o755)
    readable = [*policy.system(), *SYSTEM, *(str(ROOT / path) for path in READABLE)]
    files = ["--die-with-parent", *policy.shown(data_folder, readable), "--ro-bind", str(etc), "/etc"]
    files += ["--ro-bind-try", ALTERNATIVES, ALTERNATIVES, "--ro-bind", "/sys", "/sys"]
    files += ["--ro-bind", str(folder), str(folder)]
    spaces = [
        *(f"--unshare-{kind}" for kind in ("user", "pid", "ipc", "uts", "net", "cgroup-try")),
        "--die-with-parent",
    ]
    spaces += ["--proc", "/proc", "--new-session", "--chdir", "/tmp"]
    closed = ["--remount-ro", "/dev", "--remount-ro", "/"]
    if os.geteuid():
        return [policy.bwrap(), *files, *spaces, *closed, "--"]
    become = [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--no-new-privs",
        "--bounding-set=-all",
    ]
    outer = [policy.bwrap(), *files, "--bind", "/proc", "/proc", *closed, "--"]
    return [*outer, *become, policy.bwrap(), "--dev-bind", "/", "/", *spaces, "--"]


def _etc(folder: Path, user: int) -> Path:
    """Make a folder that stands in the place of /etc: the sandbox knows one user, and no name of another machine."""
    Path(folder, Path(ALTERNATIVES).name).mkdir(parents=True)
    files = {
        "passwd": f"learner:x:{user}:{user}::/tmp:/bin/bash\n",
        "group": f"learner:x:{user}:\n",
        "hosts": "127.0.0.1 localhost\n",
        "gitconfig": surroundings.GIT_CONFIG,
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder
