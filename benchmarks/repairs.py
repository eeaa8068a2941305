"""Judge every row of the hunt's corpus: does each right repair pass, and does no other file?"""

import tempfile
from pathlib import Path

from rich.progress import track

from course.hunt.cases import NOTHING, Case, cases
from grader.hunt import repair
from grader.runner.pool import Pool
from tests.corpus.repairs import REPAIRS


def measure() -> dict:
    """Return {"files", "right", "wrong": {name of a file that is judged wrongly: the judge's message}}."""
    files = [(each.case, each.name, each.text(), each.right) for each in REPAIRS]
    for case in cases().values():
        files.append((case, "as in the ticket", case.broken, NOTHING in case.diagnosis.who))
        files.append((case, "undone", case.works, True))
    wrong = {}
    with Pool() as pool, tempfile.TemporaryDirectory() as folder:
        for case, name, text, right in track(files, description="judging repairs"):
            said = _judged(case, text, Path(folder), pool)
            if bool(said) == right:
                wrong[f"{case.label}, {name}"] = said or "passed"
    return {"files": len(files), "right": sum(right for _, _, _, right in files), "wrong": wrong}


def _judged(case: Case, text: str, folder: Path, pool: Pool) -> str:
    """Return what the judge has against a file; "" if it passes."""
    path = folder / case.script
    path.write_text(text)
    outcome = repair.judge(path, case, pool)
    return "" if outcome.status == "passed" else outcome.message
