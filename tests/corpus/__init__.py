"""The corpus: scripts that learners could hand in, each with its correct verdict, by part of the judge.

The modules <part>_correct and <part>_wrong hold a part's rows, as small edits of a solution, in CORRECT and in WRONG;
the part is named as in grader.checks. Rows of one topic may have a module of their own, <part>_correct_<topic>. What a
part's rows share is in <part>_passages. hostile.py holds files that are not honest attempts. Judging a row takes
seconds, so tests/grader/test_judge.py takes those marked in_ci=True; scripts/bench judges every row.
"""

import importlib
import pkgutil

from tests.corpus import puzzles
from tests.corpus.hostile import HOSTILE, UNREADABLE, Hostile
from tests.corpus.variant import Variant


def _rows(kind: str) -> dict[str, tuple[Variant, ...]]:
    """Return the rows of a kind, correct or wrong, by part."""
    rows: dict[str, tuple[Variant, ...]] = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        part, found, topic = name.partition(f"_{kind}")
        if found and (not topic or topic.startswith("_")):
            module = importlib.import_module(f"{__name__}.{name}")
            rows[part] = (*rows.get(part, ()), *getattr(module, kind.upper()))
    return rows


CORRECT, WRONG, PUZZLES = _rows("correct"), _rows("wrong"), puzzles.rows()

# All rows of each part. The hostile files are edits of the first part's program.
PARTS: dict[str, tuple[Variant | Hostile, ...]] = {
    part: (*CORRECT.get(part, ()), *WRONG.get(part, ())) for part in sorted({*CORRECT, *WRONG})
}
PARTS["horovod"] += HOSTILE
for _part, _shown in PUZZLES.items():
    PARTS[_part] = (*PARTS.get(_part, ()), *_shown)

__all__ = ["CORRECT", "HOSTILE", "PARTS", "PUZZLES", "UNREADABLE", "WRONG", "Hostile", "Variant"]
