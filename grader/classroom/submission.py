"""A submission, looked through before the host touches it: nothing but a notebook and a script comes in.

A link would be followed by what copies it, a pipe is never read to its end, a broken notebook or time stamp stops
nbgrader for the whole class. So a submission is copied by one function alone, which opens what was asked for and
nothing else; what is missing or not taken, and why, is written at the head of the learner's notebook.
"""

import json
import os
import re
import secrets
import stat
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbgrader.utils import parse_utc

from course.steps import Step
from grader.classroom import release, written_answers

LARGEST = 20 * 2**20  # bytes of a file
READ = 10 * LARGEST  # bytes of a notebook in which an answer is looked for
CELLS = 2000  # of a notebook


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
            most = READ if name.endswith(".ipynb") else LARGEST
            content = file.read(most + 1)
            if len(content) > most:
                raise OSError(f"it is larger than {most // 2**20} MiB")
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
    """Return a notebook that nbgrader can read: the learner's, or the released one with the learner's answer."""
    if content is None:
        remarks.append(
            f"{step.name}.ipynb is missing, so there are no answers of yours here, and the script is judged."
        )
        return release.lesson(step)
    try:
        if len(content) > LARGEST:
            raise ValueError(f"it is larger than {LARGEST // 2**20} MiB")
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
    except (Exception, RecursionError) as error:  # whatever it is: the answer is looked for in the text
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        remarks.append(f"{step.name}.ipynb is damaged ({why}). The answer is taken as far as it can be read.")
        notebook = release.lesson(step)
        answer = written_answers.in_file(content, step).encode(errors="replace").decode()
        written_answers.cell_of(notebook).source = answer or written_answers.cell_of(notebook).source
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
