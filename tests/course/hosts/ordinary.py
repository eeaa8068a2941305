"""Commands of an ordinary user, for tests that run as root."""

import os
import sys
import tempfile
from pathlib import Path

from course.steps import ROOT
from grader.sandbox import policy

USER = 12345  # whom the machine does not have
HOMES: list[str] = []  # those that were made, which conftest.py removes


def _closed(path: Path) -> Path | None:
    """Return the outermost folder that other users cannot enter on the way to a path, if any."""
    closed = (folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001)
    return next(closed, None)


def as_ordinary_user(*command: str) -> list[str]:
    """Return a command line that runs a command as a user without rights, whose home is a new temporary folder, $HOME.

    It is the command itself where the tests do not run as root. The project and its environment may lie in root's
    home: what of them is needed is then shown in an empty home.
    """
    if os.geteuid():
        return list(command)
    hidden = {path: _closed(path) for path in (ROOT, Path(sys.prefix), Path(sys.base_prefix)) if _closed(path)}
    options = [option for folder in set(hidden.values()) for option in ("--perms", "0755", "--tmpfs", str(folder))]
    for path, folder in hidden.items():
        between = [parent for parent in reversed(path.parents) if folder in parent.parents]
        options += [option for parent in between for option in ("--perms", "0755", "--dir", str(parent))]
        options += ["--ro-bind", str(path), str(path)]
    home = tempfile.mkdtemp()
    HOMES.append(home)
    users = Path(home, "passwd")
    users.write_text(f"{Path('/etc/passwd').read_text()}learner:x:{USER}:{USER}::{home}:/bin/sh\n")
    users.chmod(0o644)
    os.chown(home, USER, USER)
    options += ["--ro-bind", str(users), "/etc/passwd"]
    become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--bounding-set=-all"]
    root = [policy.bwrap(), "--dev-bind", "/", "/", "--cap-add", "ALL", *options, "--setenv", "HOME", home]
    return [*root, "--", *become, *command]
