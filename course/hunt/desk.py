"""A learner's files of a case, the hints they have taken, and their best result: all in notebooks/hunt/."""

from msgspec import Struct

from course.hunt.cases import DIAGNOSIS, WORK, Case
from course.internal import kept

FILE = WORK / "progress.json"
HINTS = 3


class Progress(Struct):
    """What a learner has done with a case.

    Attributes:
        hints: that were taken.
        diagnosis, repair: the best points so far.
        score: the best points for both, less the hints.
        solved: whether diagnosis and repair were right in one check.
    """

    hints: int = 0
    diagnosis: float = 0
    repair: float = 0
    score: float = 0
    solved: bool = False


def progress(case: Case) -> Progress:
    """Return what the learner has done with a case."""
    return kept.read(FILE, Progress).get(case.name, Progress())


def keep(case: Case, new: Progress) -> None:
    """Keep what the learner has done with a case."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    kept.write(FILE, kept.read(FILE, Progress) | {case.name: new})


def start(case: Case) -> None:
    """Put the files of a case into the learner's folder; those that are there stay."""
    case.work.mkdir(parents=True, exist_ok=True)
    for name, text in contents(case).items():
        path = case.work / name
        if not path.exists():
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)


def reset(case: Case) -> list[str]:
    """Put the files of a case there anew. Changed ones are kept next to them, and the names of those are returned.

    Hints stay taken.
    """
    saved = []
    for name, text in contents(case).items():
        path = case.work / name
        if path.exists() and path.read_text(errors="replace") != text:
            number = 1
            while (backup := path.with_name(f"{path.stem}.backup_{number}{path.suffix}")).exists():
                number += 1
            path.rename(backup)
            saved.append(backup.name)
        path.unlink(missing_ok=True)
    start(case)
    return saved


def contents(case: Case) -> dict[str, str]:
    """Return the files that a learner gets, by name: the broken program, the empty diagnosis, the job's other files."""
    others = {path.name: path.read_text() for path in sorted(case.folder.glob("given/*"))}
    return {**others, case.script: case.broken, DIAGNOSIS: case.form()}


def hint(case: Case) -> tuple[int, str]:
    """Take the next hint; after the last one, that one again. Returns its number, from 1, and its text."""
    known = progress(case)
    if known.hints < HINTS:
        known.hints += 1
        keep(case, known)
    return known.hints, case.hints[known.hints - 1]
