"""Archives from a learning platform that would write elsewhere, or endlessly. Each function makes one."""

import io
import os
import tarfile
import zipfile
from pathlib import Path

from tests.attacks import HONEST, STEP, Aim, Attacks

ARCHIVES = Attacks()
NOTEBOOK = f"{STEP.name}.ipynb"


def honest(archive: zipfile.ZipFile, lesson: str) -> None:
    """Put an honest submission into an archive."""
    archive.writestr(STEP.script, HONEST)
    archive.writestr(NOTEBOOK, lesson)


@ARCHIVES.of("judged")
def goes_up(path: Path, lesson: str, aim: Aim):
    """Nothing is written outside the archive's own folder."""
    with zipfile.ZipFile(path, "w") as archive:
        honest(archive, lesson)
        archive.writestr("../" * 12 + f"{aim.outside}/planted.py", "planted")
        archive.writestr(f"{aim.outside}/planted.py", "planted")


@ARCHIVES.of("judged")
def link_in_zip(path: Path, lesson: str, aim: Aim):
    """There are no links in what is unpacked."""
    with zipfile.ZipFile(path, "w") as archive:
        honest(archive, lesson)
        link = zipfile.ZipInfo("more.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, str(aim.course / "gradebook.db"))


@ARCHIVES.of("judged")
def bomb(path: Path, lesson: str, aim: Aim):
    """A member is unpacked up to the size that a file may have."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        honest(archive, lesson)
        with archive.open("big.py", "w") as member:
            for _ in range(256):
                member.write(bytes(2**20))


@ARCHIVES.of("not taken")
def many_members(path: Path, lesson: str, aim: Aim):
    """Somebody who hands in thousands of files is asked again."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(5000):
            archive.writestr(f"{number}.py", "")


@ARCHIVES.of("judged")
def zip_in_zip(path: Path, lesson: str, aim: Aim):
    """What is packed twice stays packed."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("sitecustomize.py", "planted")
    with zipfile.ZipFile(path, "w") as archive:
        honest(archive, lesson)
        archive.writestr("inner.zip", inner.getvalue())


@ARCHIVES.of("not taken")
def broken(path: Path, lesson: str, aim: Aim):
    """The student who handed it in is named, and the other archives are unpacked."""
    path.write_bytes(b"PK\x03\x04 no archive at all")


@ARCHIVES.of("not taken")
def locked(path: Path, lesson: str, aim: Aim):
    """No password is asked for."""
    with zipfile.ZipFile(path, "w") as archive:
        honest(archive, lesson)
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag that says encrypted, in both its places
        at = -1
        while (at := content.find(mark, at + 1)) >= 0:
            content[at + offset] |= 1
    path.write_bytes(content)


@ARCHIVES.of("judged")
def links_in_tar(path: Path, lesson: str, aim: Aim):
    """Only regular files are unpacked."""
    with tarfile.open(path, "w") as archive:
        for name, content in ((STEP.script, HONEST), (NOTEBOOK, lesson)):
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))
        for name, kind in (("a.py", tarfile.SYMTYPE), ("b.py", tarfile.LNKTYPE), ("c.py", tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, str(aim.course / "gradebook.db")
            archive.addfile(member)
        device = tarfile.TarInfo("d.py")
        device.type, device.devmajor, device.devminor = tarfile.CHRTYPE, 1, 5
        archive.addfile(device)


@ARCHIVES.of("not taken")
def named_after_a_folder(path: Path, lesson: str, aim: Aim):
    """A learner's name is no path."""
    with zipfile.ZipFile(path.with_name("..zip"), "w") as archive:
        honest(archive, lesson)


@ARCHIVES.of("judged")
def many_large_files(path: Path, lesson: str, aim: Aim):
    """What is unpacked is bounded as a whole, too."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        honest(archive, lesson)
        for number in range(12):
            archive.writestr(f"large{number}.py", bytes(19 * 2**20))


@ARCHIVES.of("judged")
def two_archives(path: Path, lesson: str, aim: Aim):
    """Of one learner's archives, the one downloaded last counts."""
    other = path.with_name(f"{path.stem}_again.zip")
    with zipfile.ZipFile(path, "w") as archive:
        honest(archive, lesson)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr(STEP.script, "raise SystemExit('LEAK')")
    os.utime(other, (0, 0))
