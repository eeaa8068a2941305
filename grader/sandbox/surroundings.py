"""What a script expects around it, and a sandbox lacks: a user with a name, and a git repository that it is in."""

import contextlib
import os
import subprocess
from pathlib import Path

USER = "learner"
HOME = "/tmp"

# Scripts ask for the name of their user, or for their commit, to write it into a log.
VARIABLES = {"HOME": HOME, "USER": USER, "LOGNAME": USER, "SHELL": "/bin/sh"}
SIZE = 65536  # bytes of /etc
GIT_CONFIG = "[safe]\n\tdirectory = *\n"  # the home is not the user's own


def shown() -> list[str]:
    """Return bubblewrap's options for an /etc that is still to be filled."""
    return ["--perms", "0755", "--size", str(SIZE), "--tmpfs", "/etc"]


def name_user(user: int) -> None:
    """Give a user of the sandbox, by its number, a name and a group. By the one who may write to /etc."""
    Path("/etc/passwd").write_text(f"root:x:0:0:root:/:/bin/sh\n{USER}:x:{user}:{user}:{USER}:{HOME}:/bin/sh\n")
    Path("/etc/group").write_text(f"root:x:0:\n{USER}:x:{user}:\n")
    Path("/etc/gitconfig").write_text(GIT_CONFIG)


def make_repository() -> None:
    """Make a repository with a commit in the user's home, where there is git. By the user."""
    identity = {f"GIT_{who}_{what}": USER for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        for arguments in (["init", "--initial-branch=main"], ["commit", "--allow-empty", "--message=my script"]):
            subprocess.run(["git", *arguments, "--quiet"], cwd=HOME, env=os.environ | identity, check=True, timeout=10)
