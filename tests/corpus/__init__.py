"""The corpus: scripts that learners could hand in, by part of the course, each with its correct verdict.

A module holds the rows of one part and kind (correct, wrong), as small edits of a solution. What the rows of a part
share is in its module of passages. hostile.py holds files that are not honest attempts. Judging a row takes seconds, so
tests/test_judge.py takes the rows marked in_ci=True; scripts/bench judges every row.
"""

from tests.corpus import (
    horovod_correct,
    horovod_wrong,
    production_correct,
    production_wrong,
    servers_correct,
    servers_wrong,
    workers_correct,
    workers_wrong,
)
from tests.corpus.hostile import HOSTILE, UNREADABLE, Hostile
from tests.corpus.variant import Variant

CORRECT = {
    "horovod": horovod_correct.CORRECT,
    "production": production_correct.CORRECT,
    "tf.distribute": (*workers_correct.CORRECT, *servers_correct.CORRECT),
}
WRONG = {
    "horovod": horovod_wrong.WRONG,
    "production": production_wrong.WRONG,
    "tf.distribute": (*workers_wrong.WRONG, *servers_wrong.WRONG),
}

# All rows of each part. The hostile files are edits of the first part's program.
PARTS: dict[str, tuple[Variant | Hostile, ...]] = {part: (*CORRECT[part], *WRONG[part]) for part in CORRECT}
PARTS["horovod"] += HOSTILE

__all__ = ["CORRECT", "HOSTILE", "PARTS", "UNREADABLE", "WRONG", "Hostile", "Variant"]
