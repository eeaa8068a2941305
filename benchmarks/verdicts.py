"""Every script of a part's corpus, and the first part's every hostile file, three times: judged right, and alike?

That takes an hour and more a part. Verdicts are kept in benchmarks/turns/, by script and judge, so that a run that was
ended goes on.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.progress import track

from course import steps
from course.steps import ROOT
from grader.classroom import verdicts
from grader.report import Report

sys.path.insert(0, str(ROOT / "tests"))
import corpus_production as production
import corpus_servers as servers
import corpus_workers as workers
from corpus import CORRECT
from corpus_wrong import WRONG
from hostile import HOSTILE

TURNS = Path(__file__).with_name("turns")
TIMES = 3
JOBS = 2


PARTS = {
    1: (*CORRECT, *WRONG, *HOSTILE),
    2: (*production.CORRECT, *production.WRONG),
    3: (*workers.CORRECT, *workers.WRONG, *servers.CORRECT, *servers.WRONG),
}


def measure(part: int) -> dict:
    """Return {"scripts", "times", "wrong": [what was not judged right], "unlike": [whose reports differed]}."""
    rows = PARTS[part]
    stores = [verdicts.Store(TURNS / str(turn)) for turn in range(TIMES)]

    def judged(order: tuple) -> Report:
        row, store = order
        text = row.text()
        script = text if isinstance(text, bytes) else text.encode()
        return Report.from_json(verdicts.of(script, steps.get(row.step), store)["report"])

    with ThreadPoolExecutor(JOBS) as threads:
        orders = [(row, store) for store in stores for row in rows]
        reports = list(track(threads.map(judged, orders), total=len(orders), description=f"judging part {part}"))
    turns = [reports[turn * len(rows) : (turn + 1) * len(rows)] for turn in range(TIMES)]
    wrong = {row.name for turn in turns for row, report in zip(rows, turn, strict=True) if not row.deserves(report)}
    told = ([report.checks for report in turn] for turn in turns)
    unlike = [row.name for row, first, *others in zip(rows, *told, strict=True) if any(one != first for one in others)]
    return {"scripts": len(rows), "times": TIMES, "wrong": sorted(wrong), "unlike": unlike}
