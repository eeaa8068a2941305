"""Judge every script of a part's corpus several times: is each verdict correct, and is it the same every time?

Three times take more than an hour per part. Verdicts are kept in benchmarks/turns/, by script and judge, so that a run
that was interrupted continues where it stopped.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import structs
from rich.progress import track

from course import steps
from grader.checks import ending
from grader.classroom import verdicts
from grader.terms.report import Outcome, Report
from tests.corpus import PARTS

TURNS = Path(__file__).with_name("turns")
JOBS = 2
ALONE = "faster"  # the part that compares the seconds of two programs: a script at a time


def measure(part: str, times: int) -> dict:
    """Return {"scripts", "times", "wrong": [names of those judged wrongly], "unlike": [those whose reports differed]}.

    Args:
        part: a key of PARTS.
        times: how often to judge each script.
    """
    rows = PARTS[part]
    stores = [verdicts.Store(TURNS / str(turn)) for turn in range(times)]

    def judged(order: tuple) -> Report:
        row, store = order
        text = row.text()
        script = text if isinstance(text, bytes) else text.encode()
        return Report.from_published(verdicts.of(script, steps.get(row.step), store)["report"])

    with ThreadPoolExecutor(1 if part == ALONE else JOBS) as threads:
        orders = [(row, store) for store in stores for row in rows]
        reports = list(track(threads.map(judged, orders), total=len(orders), description=f"judging {part}"))
    turns = [reports[turn * len(rows) : (turn + 1) * len(rows)] for turn in range(times)]
    wrong = {row.name for turn in turns for row, report in zip(rows, turn, strict=True) if not row.deserves(report)}
    checks = ([_without_chance(report) for report in turn] for turn in turns)
    unlike = [
        row.name for row, first, *others in zip(rows, *checks, strict=True) if any(one != first for one in others)
    ]
    return {"scripts": len(rows), "times": times, "wrong": sorted(wrong), "unlike": unlike}


def _without_chance(report: Report) -> list[Outcome]:
    """Return the outcomes of a report, without what chance decides.

    That is: the names that Python draws for temporary folders and, where a check explains why the program fails,
    whether it does this time (two ranks may write one file at once, or not), which of its processes fails first, and
    with which of a library's errors.
    """
    first = report.first_failure
    return [
        structs.replace(check, status="failed", message="", line=None)
        if check.name == ending.RUNS and check.status != "error" and first and first.name != ending.RUNS
        else structs.replace(check, message=re.sub(r"\btmp\w{8}", "tmp", check.message))
        for check in report.checks
    ]
