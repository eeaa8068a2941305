"""Files in a folder of downloads: also those in zip and tar archives, and in archives within these, under limits.

Only names that are asked for are read. No name in an archive becomes a path: contents are copied into numbered files.
"""

import re
import stat
import tarfile
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

LARGEST = 200 * 2**20  # bytes of a file
MEMBERS = 50_000, 1000  # of a downloaded archive, which may be a class's; of an archive within another
UNPACKED = 2**30, 2 * LARGEST  # bytes of all that is taken from it
LONGEST = 2**32  # bytes in a tar archive, which is read from its beginning to its end
DEEPEST = 2  # archives around an archive
ARCHIVE = re.compile(r"\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))$", re.IGNORECASE)
UNKNOWN = re.compile(r"\.(7z|rar)$", re.IGNORECASE)
JUNK = re.compile(r"__MACOSX|__pycache__|Thumbs\.db|desktop\.ini|\..*", re.IGNORECASE)  # .ipynb_checkpoints, ._name, …
BROKEN = OSError, ValueError, RuntimeError, EOFError, NotImplementedError, zipfile.BadZipFile, tarfile.TarError

Opener = Callable[[], Any]  # opens a file of bytes
Where = tuple[str, ...]  # names on the way to a file from the folder of downloads: of folders, archives, the file


@dataclass(frozen=True)
class Found:
    """A file in the downloads."""

    where: Where
    downloaded: float  # when, in seconds since the epoch: the time of the file in the folder of downloads
    content: Path | None  # a copy, if the name was asked for

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.where[-1]


@dataclass(frozen=True)
class Left:
    """A file that was not taken."""

    where: Where
    why: str

    def __str__(self) -> str:
        """Return where the file is, and the reason."""
        return f"{shown(self.where)}: {self.why}"


def shown(where: Where) -> str:
    """Return where a file is, without characters that a terminal would act on."""
    return "".join(c if c.isprintable() else "?" for c in "/".join(where))


class Downloads:
    """All files of a folder of downloads. As a context: it keeps copies on the disk of that folder."""

    def __init__(self, folder: Path, wanted: Callable[[str], bool]):
        """Look through the folder, and copy the files with a wanted name."""
        self.files: list[Found] = []
        self.left: list[Left] = []
        self._wanted, self._copies = wanted, tempfile.TemporaryDirectory(dir=folder.parent)
        for path in sorted(folder.iterdir()):
            self._look(path, (path.name,), path.lstat().st_mtime)

    def __enter__(self) -> "Downloads":
        """Return the downloads."""
        return self

    def __exit__(self, *_) -> None:
        """Remove the copies."""
        self._copies.cleanup()

    def _look(self, path: Path, where: Where, downloaded: float) -> None:
        """Look at what is in the folder of downloads itself."""
        if JUNK.fullmatch(path.name):
            return
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            self.left.append(Left(where, "it is not a regular file"))
        elif path.is_dir():
            for inside in sorted(path.iterdir()):
                self._look(inside, (*where, inside.name), inside.lstat().st_mtime)
        else:
            self._take(where, downloaded, lambda: path.open("rb"), 0, [UNPACKED[0]])

    def _take(self, where: Where, downloaded: float, opener: Opener, depth: int, rest: list[int]) -> None:
        """Note a file; copy it if its name is wanted, or look into it if it is an archive.

        Args:
            where: the file is.
            downloaded: the time of the download that it is in.
            opener: opens it.
            depth: the number of archives around it.
            rest: the bytes that may still be taken from the archive around it; in a list, since this changes it.
        """
        name, copy = where[-1], None
        is_archive = ARCHIVE.search(name)
        if UNKNOWN.search(name):
            self.left.append(Left(where, "archives of this kind are not unpacked: unpack it, into a folder"))
            return
        if is_archive and depth > DEEPEST:
            self.left.append(Left(where, f"it is in an archive in an archive, {depth} deep"))
            return
        if is_archive or self._wanted(name):
            try:
                copy = self._copy(opener, min(rest[0], LARGEST) if depth else UNPACKED[0])
            except BROKEN as error:
                self.left.append(Left(where, f"it cannot be read: {error}"))
                return
            rest[0] -= copy.stat().st_size
        if is_archive and copy is not None:
            try:
                self._unpack(copy, where, downloaded, depth)
            except BROKEN as error:
                self.left.append(Left(where, f"it cannot be unpacked: {error}"))
            copy.unlink()
            return
        if copy is not None and copy.stat().st_size > LARGEST:
            self.left.append(Left(where, f"it is larger than {LARGEST // 2**20} MiB"))
            return
        self.files.append(Found(where, downloaded, copy))

    def _copy(self, opener: Opener, most: int) -> Path:
        """Copy a file and return the copy.

        Raises:
            ValueError: it is larger than that.
            BROKEN: it cannot be read.
        """
        with opener() as packed, tempfile.NamedTemporaryFile(dir=self._copies.name, delete=False) as copy:
            while block := packed.read(2**20):
                most -= len(block)
                if most < 0:
                    raise ValueError("it is too large")
                copy.write(block)
        return Path(copy.name)

    def _unpack(self, archive: Path, where: Where, downloaded: float, depth: int) -> None:
        members, rest = MEMBERS[bool(depth)], [UNPACKED[bool(depth)]]
        for number, (name, opener) in enumerate(_zipped(archive) if zipfile.is_zipfile(archive) else _tarred(archive)):
            if number == members:
                raise ValueError(f"it has more than {members} files")
            inside = [part for part in re.split(r"[/\\]+", unicodedata.normalize("NFC", name)) if part not in ("", ".")]
            if not inside or any(JUNK.fullmatch(part) for part in inside):
                continue
            if opener is None:
                self.left.append(Left((*where, *inside), "it is not a regular file"))
            else:
                self._take((*where, *inside), downloaded, opener, depth + 1, rest)


def _zipped(archive: Path) -> Iterator[tuple[str, Opener | None]]:
    """Yield the name of each file in a zip archive, and what opens it; None for links and the like."""
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            name = member.filename
            if not member.flag_bits & 0x800:  # macOS writes UTF-8 without the flag that says so
                with suppress(UnicodeError):
                    name = name.encode("cp437").decode()
            kind = stat.S_IFMT(member.external_attr >> 16)
            if member.is_dir() or name.endswith("\\"):
                continue
            yield name, partial(opened.open, member) if kind in (0, stat.S_IFREG) else None


def _tarred(archive: Path) -> Iterator[tuple[str, Opener | None]]:
    """Yield the same of a tar archive.

    Raises:
        ValueError: it takes too long to read, as it would be too large when unpacked.
    """
    size = 0
    with tarfile.open(archive) as opened:
        for member in opened:
            size += member.size
            if size > LONGEST:
                raise ValueError(f"it holds more than {LONGEST // 2**30} GiB")
            if not member.isdir():
                yield member.name, partial(opened.extractfile, member) if member.isreg() else None
