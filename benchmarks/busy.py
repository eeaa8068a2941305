"""Judge correct scripts of steps 13 and 14 on a busy machine: does any fail for lack of a core?

Several are judged side by side, and programs that only compute join them until the load is about LOAD. Each judgement
is noted in benchmarks/turns/, by judge, so that a run that was interrupted continues where it stopped.
"""

import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean

from rich.progress import track

from benchmarks.verdicts import TURNS
from course.internal.reaper import Reaped
from grader.judge import judge
from grader.runner import expectations
from grader.runner.pool import Pool
from tests.corpus import CORRECT
from tests.corpus.variant import Variant

LOAD = 10  # on two cores
JOBS = 4
BURNERS = 8  # at most
STEPS = 13, 14


class Burners:
    """Programs that only compute, as many as the load lacks."""

    def __init__(self, load: float):
        """Hold the load of this machine near this one."""
        self.load = load
        self.running: list[Reaped] = []
        self.lock = threading.Lock()

    def adjust(self) -> float:
        """Start one program or end one, where the load is too low or too high, and return the load."""
        load = os.getloadavg()[0]
        with self.lock:
            if load < 0.9 * self.load and len(self.running) < BURNERS:
                self.running.append(Reaped([sys.executable, "-c", "while True: pass"]))
            elif load > 1.1 * self.load and self.running:
                self.running.pop().close()
        return load


@contextlib.contextmanager
def _burners(load: float) -> Iterator[Burners]:
    burners = Burners(load)
    try:
        yield burners
    finally:
        for burner in burners.running:
            burner.close()


def measure(count: int) -> dict:
    """Return {"judged", "false": [[script, why]], "load": its mean, "load_min", "seconds": mean of a judgement}.

    Args:
        count: how many judgements to make, those noted before included.
    """
    rows = [row for row in CORRECT["multi_worker"] if row.step in STEPS]
    TURNS.mkdir(exist_ok=True)
    notes = TURNS / f"busy-{expectations.CODE[:16]}.jsonl"
    done = notes.read_text().splitlines() if notes.exists() else []
    load = LOAD * len(os.sched_getaffinity(0)) / 2
    with tempfile.TemporaryDirectory() as folder, Pool() as pool, _burners(load) as burners, notes.open("a") as file:
        for number, row in enumerate(rows):
            (Path(folder) / f"{number}.py").write_text(row.text())

        def judged(number: int) -> str:
            row: Variant = rows[number % len(rows)]
            before = burners.adjust()
            report = judge(Path(folder) / f"{number % len(rows)}.py", row.step, pool)
            failure = report.first_failure
            why = None if row.deserves(report) else f"{report.status}: {failure.message if failure else ''}"
            note = {"script": row.name, "step": row.step, "false": why, "seconds": report.seconds}
            line = json.dumps(note | {"load": (before + burners.adjust()) / 2})
            file.write(line + "\n")
            file.flush()
            return line

        with ThreadPoolExecutor(JOBS) as threads:
            numbers = range(len(done), count)
            done += track(threads.map(judged, numbers), total=len(numbers), description="judging on a busy machine")
    judgements = [json.loads(line) for line in done]
    loads = [note["load"] for note in judgements]
    return {
        "judged": len(judgements),
        "false": [[note["script"], note["false"]] for note in judgements if note["false"]],
        "load": round(mean(loads), 1),
        "load_min": round(min(loads), 1),
        "seconds": round(mean(note["seconds"] for note in judgements), 1),
    }
