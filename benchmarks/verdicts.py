"""Every script of the corpus and every hostile file, three times: are all judged right, and alike each time?"""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from rich.progress import track

from course import steps
from course.steps import ROOT
from grader.judge import judge
from grader.pool import Pool

sys.path.insert(0, str(ROOT / "tests"))
import corpus_production as production
import corpus_servers as servers
import corpus_workers as workers
from corpus import CORRECT
from corpus_wrong import WRONG
from hostile import HOSTILE

TIMES = 3
JOBS = 2


def measure() -> dict:
    """Return {"scripts", "times", "wrong": [what was not judged right], "unlike": [whose reports differed]}."""
    later = [row for part in (production, workers, servers) for row in (*part.CORRECT, *part.WRONG)]
    rows = (*CORRECT, *WRONG, *later, *HOSTILE)
    with tempfile.TemporaryDirectory() as folder, Pool() as pool, ThreadPoolExecutor(JOBS) as threads:

        def judged(number: int):
            row = rows[number % len(rows)]
            path = Path(folder) / f"{number}" / steps.get(row.step).script
            path.parent.mkdir(exist_ok=True)
            text = row.text()
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            report = judge(path, row.step, pool)
            report.file, report.runs = path.name, None
            return report

        total = TIMES * len(rows)
        reports = list(track(threads.map(judged, range(total)), total=total, description="judging"))
    turns = [reports[turn * len(rows) : (turn + 1) * len(rows)] for turn in range(TIMES)]
    wrong = {row.name for turn in turns for row, report in zip(rows, turn, strict=True) if not row.deserves(report)}
    told = ([[asdict(check) for check in report.checks] for report in turn] for turn in turns)
    unlike = [row.name for row, first, *others in zip(rows, *told, strict=True) if any(one != first for one in others)]
    return {"scripts": len(rows), "times": TIMES, "wrong": sorted(wrong), "unlike": unlike}
