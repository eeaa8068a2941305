"""What learners hand in, looked through before the host touches it: nothing but a notebook and a script comes in.

A link would be followed by what copies it, a pipe is never read to its end, a broken notebook or time stamp stops
nbgrader for the whole class. So a submission is copied by one function alone, which opens what was asked for and
nothing else; what is missing or not taken, and why, is written at the head of the learner's notebook.
"""

import json
import os
import pwd
import re
import secrets
import shutil
import stat
import tarfile
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import ExtractorPlugin
from nbgrader.utils import parse_utc

from course import steps
from course.steps import Step
from grader.classroom import release

LARGEST = 20 * 2**20  # bytes of a file
CELLS = 2000  # of a notebook
MEMBERS = 1000  # of an archive
UNPACKED = 2 * LARGEST  # bytes of all that is taken from an archive

# Names of downloads: alice.zip or alice_whatever.zip, with the two files somewhere inside, or alice_step_03.ipynb and
# alice_fashion_mnist.py. A learner's name has no underscore.
_PATHS = [Path(step.script) for step in steps.STEPS if step.has_exercise]
SCRIPTS = "|".join(sorted({re.escape(path.stem) for path in _PATHS}))
SUFFIXES = [".ipynb", *sorted({path.suffix for path in _PATHS})]
_ENDS = "|".join(suffix[1:] for suffix in SUFFIXES)
NAMES = (
    r".*/extracted/(?P<student_id>[A-Za-z0-9][A-Za-z0-9.@-]*)(_[^/]*)?[/_]"
    rf"(?P<file_id>step_\d\d|capstone_\d|{SCRIPTS})\.({_ENDS})$"
)
LEARNER = re.compile(r"[A-Za-z0-9][\w.@-]*")


def copy(source: str | Path, target: str | Path, step: Step) -> list[str]:
    """Copy the notebook, script and time stamp that were handed in, and return what is wrong, one remark per line.

    Only regular files with one name are opened. The target, which must not be there, gets a notebook in any case: the
    released one, if the learner's cannot be read.

    Raises:
        OSError: the source is no folder, or the target is there.
    """
    target, remarks = Path(target), list[str]()
    contents, others = _contents(source, step, remarks)
    target.mkdir(parents=True)
    script = contents.get(step.script)
    if script is None:
        remarks.append(f"{step.script} is missing.")
    else:
        (target / step.script).write_bytes(script)
    (target / "timestamp.txt").write_text(_timestamp(contents.get("timestamp.txt"), Path(source)))
    secret = contents.get("submission_secret.txt") or b""
    (target / "submission_secret.txt").write_text(
        secret.decode() if re.fullmatch(rb"[0-9a-f]{128}", secret) else secrets.token_hex(64)
    )
    notebook = _notebook(contents.get(f"{step.name}.ipynb"), step, remarks)
    if remarks and others:
        shown = ", ".join(ascii(name)[:60] for name in others[:5])
        remarks.append(f"Only {step.name}.ipynb and {step.script} are asked for. There were also {shown}.")
    if remarks:
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell("\n".join(f"- {remark}" for remark in remarks)))
        notebook.cells[0].metadata.remarks = True
    nbformat.write(notebook, target / f"{step.name}.ipynb")
    return remarks


def _contents(source: str | Path, step: Step, remarks: list[str]) -> tuple[dict[str, bytes | None], list[str]]:
    """Return what is in those of a folder's files that were asked for, and the names of all others.

    Raises:
        OSError: the source is no folder.
    """
    wanted = {f"{step.name}.ipynb", step.script, "timestamp.txt", "submission_secret.txt"}
    folder = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        names = set(os.listdir(folder))  # noqa: PTH208  a path could be another folder by now
        return {name: _read(folder, name, remarks) for name in sorted(names & wanted)}, sorted(names - wanted)
    finally:
        os.close(folder)


def _read(folder: int, name: str, remarks: list[str]) -> bytes | None:
    """Return the contents of a regular file in an open folder; None, with a remark, for anything else."""
    try:
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError("it is not a regular file")
        with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
                raise OSError("it is not a regular file of its own")
            content = file.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise OSError(f"it is larger than {LARGEST // 2**20} MiB")
            return content
    except OSError as error:
        remarks.append(f"{name} is not taken: {error.strerror or error}.")
        return None


def _timestamp(content: bytes | None, source: Path) -> str:
    """Return the time of a submission as nbgrader writes it, or that of its folder if there is no valid one."""
    try:
        text = (content or b"").decode().strip()
        if len(text) < 64 and parse_utc(text):
            return text
    except (ValueError, OverflowError, TypeError):
        pass
    return datetime.fromtimestamp(source.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")


def _notebook(content: bytes | None, step: Step, remarks: list[str]) -> nbformat.NotebookNode:
    if content is None:
        remarks.append(
            f"{step.name}.ipynb is missing, so there are no answers of yours here, and the script is judged."
        )
        return release.lesson(step)
    try:
        read = json.loads(content.decode())
        if read.get("nbformat") != 4:  # as lessons are, and all that JupyterLab writes
            raise ValueError("it is of another format than lessons, which have format 4")
        if len(read["cells"]) > CELLS:  # before nbformat goes through them
            raise ValueError(f"it has more than {CELLS} cells")
        notebook = nbformat.reads(content.decode(), as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            cell.metadata.pop("remarks", None)  # which intake alone makes
        nbformat.writes(notebook).encode()  # a character that is half of one could be read, and never written
    except (Exception, RecursionError) as error:  # whatever it is, there is nothing in there to read
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        remarks.append(f"{step.name}.ipynb cannot be read ({why}), so only the script is judged.")
        return release.lesson(step)
    return notebook


def is_clean(folder: Path, step: Step) -> bool:
    """Return whether a submission's folder holds what copy() would write, and nothing else."""
    remarks: list[str] = []
    contents, others = _contents(folder, step, remarks)
    if remarks or others or not {f"{step.name}.ipynb", "timestamp.txt", "submission_secret.txt"} <= contents.keys():
        return False
    _notebook(contents[f"{step.name}.ipynb"], step, remarks)
    stamp = contents["timestamp.txt"]
    return not remarks and stamp is not None and _timestamp(stamp, folder) == stamp.decode(errors="replace").strip()


def clean(folder: Path, step: Step, originals: Path) -> list[str]:
    """Ensure that a folder in submitted/ holds a clean submission; what it held is kept in originals, untouched.

    Returns:
        what copy() remarked, or nothing where it was clean already.
    """
    if not folder.is_symlink() and is_clean(folder, step):
        return []
    originals.mkdir(parents=True, exist_ok=True)
    kept = originals / f"{step.name}-{len(list(originals.iterdir())) + 1}"
    folder.rename(kept)
    with tempfile.TemporaryDirectory() as nothing:  # is what a link has to offer
        return copy(nothing if kept.is_symlink() else kept, folder, step)


def before_autograde(assignment: str, student: str, notebooks: list[str]) -> None:
    """Clean a submission that nbgrader is about to grade. In doubt it is left with no notebook, and is not graded."""
    found, notebooks[:] = list(notebooks), []
    folder = Path(found[0]).parent
    step = release.step_of(folder.name)
    root = folder.parents[2]
    clean(folder, step, root / "set_aside" / folder.parent.name)
    notebooks[:] = [str(folder / f"{step.name}.ipynb")]


class Collect(ExchangeCollect):
    """nbgrader's collect, which takes what copy() takes, from whom it says it is from."""

    def copy_files(self):
        """Collect, without what somebody else than the learner put there."""
        self.src_records = [record for record in self.src_records if self._is_theirs(record)]
        super().copy_files()

    def _is_theirs(self, record: dict) -> bool:
        owner = (Path(self.inbound_path) / record["filename"]).lstat().st_uid
        try:
            theirs = pwd.getpwnam(record["username"]).pw_uid == owner
        except KeyError:
            theirs = False
        foreign = self.check_owner and not theirs and owner != os.getuid() and _has_name(owner)
        if foreign or not LEARNER.fullmatch(record["username"]):
            self.log.error(
                "Not collected, since it is not %s who handed it in: %s", record["username"], record["filename"]
            )
            return False
        return True

    def do_copy(self, src, dest, log=None):
        """Copy one submission."""
        try:
            remarks = copy(src, dest, release.step_of(self.coursedir.assignment_id))
        except OSError as error:
            self.log.error("Not collected: %s: %s", src, error)
            return
        for remark in remarks:
            self.log.warning("%s: %s", src, remark)


def _has_name(user: int) -> bool:
    try:
        return bool(pwd.getpwuid(user))
    except KeyError:
        return False


class Extract(ExtractorPlugin):
    """nbgrader's unpacking of downloads, which takes lessons and scripts out of archives and nothing else."""

    def extract(self, archive_path, extracted_path):
        """Unpack each archive into a folder of its name, and copy each other file, but one of each learner and name.

        The one downloaded last counts: nbgrader would end at the second one.
        """
        known: dict[tuple[str, ...], Path] = {}
        for archive in sorted(Path(archive_path).iterdir(), key=lambda path: (-path.lstat().st_mtime, path.name)):
            name = re.sub(r"\.(zip|tar|tgz|tar\.\w+)$", "", archive.name)
            if archive.is_symlink() or not archive.is_file() or not LEARNER.fullmatch(name):
                self.log.error("Not unpacked: %s: it is not a regular file with a learner's name", archive)
                continue
            target = Path(extracted_path) / name
            try:
                if archive.suffix in SUFFIXES:
                    shutil.copyfile(archive, target, follow_symlinks=False)
                elif zipfile.is_zipfile(archive):
                    _unzip(archive, target)
                else:
                    _untar(archive, target)
            except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
                self.log.error("Not unpacked: %s: %s", archive, error)
            for path in [target, *target.glob("*")]:
                found = re.match(NAMES, str(path))
                if found and path.is_file():
                    kept = known.setdefault((found["student_id"], found["file_id"], path.suffix), archive)
                    if kept != archive:
                        path.unlink()
                        self.log.error("Not taken: %s of %s, since %s is newer.", path.name, archive, kept.name)


def _unzip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        members = [member for member in opened.infolist() if not stat.S_ISLNK(member.external_attr >> 16)]
        _take(((member.filename, lambda member=member: opened.open(member)) for member in members), target)


def _untar(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as opened:
        members = (member for member in opened if member.isreg())
        _take(((member.name, lambda member=member: opened.extractfile(member)) for member in members), target)


def _take(members, target: Path) -> None:
    """Write the lessons and scripts among an archive's members, flat, the first of each name.

    Raises:
        ValueError: there are too many members, or they are too large together.
    """
    taken = 0
    for number, (name, opener) in enumerate(members):
        if number == MEMBERS:
            raise ValueError(f"it has more than {MEMBERS} files")
        base = Path(name).name
        if not re.fullmatch(rf"\w[\w .()-]*\.({_ENDS})", base) or (target / base).exists():
            continue
        target.mkdir(parents=True, exist_ok=True)
        with opener() as packed:
            content = packed.read(LARGEST + 1)
        taken += len(content)
        if taken > UNPACKED:
            raise ValueError(f"it holds more than {UNPACKED // 2**20} MiB")
        if len(content) <= LARGEST:
            (target / base).write_bytes(content)
