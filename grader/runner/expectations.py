"""What the solutions do, stored by what it depends on: run once, and read back as long as nothing of that changes."""

import functools
import hashlib
import os
import threading
from pathlib import Path

import msgspec

from course.steps import ROOT, SOLUTIONS, Step
from grader.runner import answers
from grader.runner.pool import SECONDS, NoVerdictError, Pool
from grader.runner.supervisor import HOPELESS
from grader.terms.clusters import AnyCluster
from grader.terms.job import Answer
from grader.terms.runs import Facts, Runs

# Seconds for a solution, more than for a script: it is run once and kept, and on clusters of its own, too.
LIMIT = 3 * SECONDS


def _code() -> str:
    """Return the text of the judge, of the course's package and of the versions that they run on."""
    files = [path for room in ("course", "grader") for path in sorted((ROOT / room).rglob("*.py"))]
    return "".join(path.read_text() for path in [*files, ROOT / "uv.lock"])


# As this process has it imported: what another version found out is no expectation.
CODE = hashlib.sha256(_code().encode()).hexdigest()


def of(step: Step, clusters: tuple[AnyCluster, ...], pool: Pool, kind: type[Facts]) -> Runs[Facts]:
    """Return the runs of a step's solution on these clusters, with facts of one kind.

    Raises:
        NoVerdictError: the solution itself fails.
        OverrunError: see Pool.run.
    """
    text = step.solution.read_text()
    programs = [(SOLUTIONS / task.program).read_text() for each in clusters for task in each.tasks if task.program]
    key = hashlib.sha256(repr((CODE, text, programs, clusters, pool.sandboxed)).encode()).hexdigest()
    store = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "distributed-training-course"
    kept = store / f"{key}.answer"
    if kept.exists():
        return _read(kept, clusters, kind)
    answer = pool.run(text, step.script, clusters, LIMIT)
    runs = answers.read(answer, clusters, kind)
    failed = [rank for rank in runs.ranks() if rank.exit or not rank.reported]
    failed += [rank for ranks in runs.reserved.values() for rank in ranks if rank.ended_for in HOPELESS]
    for rank in failed:
        raise NoVerdictError(
            f"{rank.where}: the solution itself did not run: {rank.error or (rank.stderr or rank.stdout)[-2000:]}"
        )
    store.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}.{threading.get_ident()}")  # others may be about to keep the same
    partial.write_bytes(msgspec.msgpack.encode(answer))
    partial.replace(kept)
    return runs


@functools.lru_cache(maxsize=4)
def _read(kept: Path, clusters: tuple[AnyCluster, ...], kind: type[Facts]) -> Runs[Facts]:
    """Return the runs of an answer that was stored."""
    return answers.read(msgspec.msgpack.decode(kept.read_bytes(), type=Answer), clusters, kind)
