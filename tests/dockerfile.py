"""A small interpreter of Dockerfiles, which runs their steps in bare systems: for machines without a container engine.

It knows the instructions that the course's Dockerfile uses, raises ValueError for others, and takes debian:12-slim to
be what mmdebstrap makes. It has no layers and no cache.
"""

import json
import os
import re
import shutil
import string
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from benchmarks import bare

BASE = "debian:12-slim"
ROOT = PurePosixPath("/")

# What an engine does by default: part of /proc and all of /sys are read-only, and shared memory is small. Where a mount
# covers a part of /proc, the kernel permits no other /proc in a user namespace.
DEFAULT = """
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -o remount,bind,ro sys
mount -o remount,size=64m dev/shm
"""
# The same with the options of docs/container.md.
UNCONFINED = "mount -o remount,bind,ro sys\n"
# The network of a container that reaches nothing outside of it. The judge counts the bytes on the loopback.
LOOPBACK = f'{sys.executable} -c \'from pyroute2 import IPRoute; IPRoute().link("set", index=1, state="up")\''


@dataclass
class Image:
    """A system, and how a container of it starts."""

    root: Path
    environment: Mapping[str, str]  # this machine's, for its settings of downloads
    variables: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    user: str = "root"
    folder: PurePosixPath = ROOT
    entrypoint: list[str] = field(default_factory=list)
    default: list[str] = field(default_factory=list)

    def container(self, words: Sequence[str], mounts: str = DEFAULT, own_network: bool = True) -> list[str]:
        """Return the command line that runs a command as a container does."""
        network, up = (["--net"], LOOPBACK) if own_network else ([], "")
        words = [*self.entrypoint, *words]
        return bare.command(self.root, self.folder, self.user, self.variables, words, mounts + up, network)

    def run(self, words: Sequence[str]) -> None:
        """Run a command of the build, with this machine's settings for downloads."""
        home = PurePosixPath("/root" if self.user == "root" else f"/home/{self.user}")
        settings = bare.settings(self.root, home, self.environment)
        own = f"chown --recursive {self.user}: {home}/.config || true"  # there may be none
        subprocess.run(["chroot", self.root, "sh", "-c", own], check=True, stderr=subprocess.DEVNULL)
        variables = settings | self.arguments | self.variables
        subprocess.run(bare.command(self.root, self.folder, self.user, variables, words), check=True)

    def copy(self, source: Path, names: Sequence[str], target: str, owner: str) -> None:
        """Copy files, and what folders contain, from a folder on this machine to a folder in the system."""
        staged = self.root / "staged"
        staged.mkdir()
        for name in names:
            path = source / name.lstrip("/")
            if path.is_dir():
                shutil.copytree(path, staged, symlinks=True, dirs_exist_ok=True)
            elif target.endswith("/"):
                shutil.copy2(path, staged)
            else:
                raise ValueError(f"COPY {name} {target}: end the name of a folder with a slash")
        subprocess.run(["chroot", self.root, "chown", "--recursive", owner, "/staged"], check=True)
        place = Path(f"{self.root}{self.folder / target}")
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "--archive", f"{staged}/.", place], check=True)
        shutil.rmtree(staged)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Return the instructions of a Dockerfile and what follows each, on one line, without comments."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for instruction in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if instruction.strip():
            name, _, rest = instruction.strip().partition(" ")
            yield name, rest.strip()


def build(text: str, context: Path, folder: Path, environment: Mapping[str, str] = os.environ) -> dict[str, Image]:
    """Build the images of all stages of a Dockerfile, by name; the last one's name is "".

    Args:
        text: the Dockerfile.
        context: the folder that its files come from.
        folder: where the systems are made.
        environment: this machine's environment variables.

    Raises:
        ValueError: an instruction or an option is not known here.
        subprocess.CalledProcessError: a step failed.
    """
    base_root = folder / "base"
    bare.make(base_root, environment=environment)
    images: dict[str, Image] = {}
    image = Image(folder, environment)
    for name, rest in instructions(text):
        filled = string.Template(rest).safe_substitute(image.arguments | image.variables)
        match name, filled.split():
            case "FROM", [base] | [base, "AS", _] if base == BASE:
                image = images[filled.partition(" AS ")[2]] = Image(folder / f"stage-{len(images)}", environment)
                subprocess.run(["cp", "--archive", base_root, image.root], check=True)
            case "ARG", [setting] if "=" in setting:
                image.arguments.update([setting.split("=", 1)])
            case "ENV", [setting] if "=" in setting:
                image.variables.update([setting.split("=", 1)])
            case "USER", [user]:
                image.user = user
            case "WORKDIR", [path]:
                image.folder = image.folder / path
                Path(f"{image.root}{image.folder}").mkdir(parents=True, exist_ok=True)
            case "COPY", words:
                options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
                *names, target = [word for word in words if not word.startswith("--")]
                stage, owner = options.pop("from", None), options.pop("chown", "root:root")
                if options:
                    raise ValueError(f"COPY: {', '.join(options)} is not known here")
                image.copy(context if stage is None else images[stage].root, names, target, owner)
            case "RUN", _:
                image.run(["sh", "-c", rest])
            case "EXPOSE", _:
                pass
            case "ENTRYPOINT", _:
                image.entrypoint = json.loads(rest)
            case "CMD", _:
                image.default = json.loads(rest)
            case _:
                raise ValueError(f"{name} {rest}: not known here")
    return images
