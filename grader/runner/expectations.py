"""What the solutions do, stored by what it depends on: run once, and read back as long as nothing of that changes."""

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from course.steps import ROOT, SOLUTIONS, Step
from grader.terms.facts import Ran
from grader.terms.job import Topology
from grader.runner.pool import SECONDS, NoVerdictError, Pool
from grader.runner.supervisor import HOPELESS
from grader.terms.runs import BrokenError, Facts, GoneError, read

# Seconds for a solution, more than for a script: it is run once and kept, and on clusters of its own, too.
LIMIT = 3 * SECONDS


def _code() -> str:
    """Return the text of the judge, of the course's package and of the versions that they run on."""
    rooms = [sorted((ROOT / room).rglob("*")) for room in ("course", "grader")]
    files = [path for paths in rooms for path in paths if path.suffix in (".py", ".toml")]  # what may be used, too
    return "".join(path.read_text() for path in [*files, ROOT / "uv.lock"])


# As this process has it imported: what another version found out is no expectation.
CODE = hashlib.sha256(_code().encode()).hexdigest()


def of(step: Step, topologies: Sequence[Topology], pool: Pool, kind: type[Facts]) -> Ran:
    """Return what a run of a step's solution on these topologies leaves.

    Raises:
        NoVerdictError: the solution itself fails.
        OverrunError: see Pool.run.
    """
    text = step.solution.read_text()
    programs = [(SOLUTIONS / task.program).read_text() for each in topologies for task in each.tasks if task.program]
    key = hashlib.sha256(repr((CODE, text, programs, topologies)).encode()).hexdigest()
    store = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "distributed-training-course"
    kept = store / f"{key}.ran"
    if kept.exists():
        return msgspec.msgpack.decode(kept.read_bytes(), type=Ran)
    ran = pool.run(text, step.script, topologies, LIMIT)
    try:
        runs = read(ran, topologies, kind)
    except (GoneError, BrokenError) as error:
        raise NoVerdictError(f"The solution was not run: {error}") from None
    failed = [rank for rank in runs.ranks() if rank.exit or not rank.reported]
    failed += [rank for ranks in runs.reserved.values() for rank in ranks if rank.ended_for in HOPELESS]
    for rank in failed:
        raise NoVerdictError(
            f"{rank.where}: the solution itself did not run: {rank.error or (rank.stderr or rank.stdout)[-2000:]}"
        )
    store.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}.{threading.get_ident()}")  # others may be about to keep the same
    partial.write_bytes(msgspec.msgpack.encode(ran))
    partial.replace(kept)
    return ran
