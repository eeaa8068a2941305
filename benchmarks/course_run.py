"""How long all lessons take headless, and how much of the first part's time is training."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import nbformat

from course.steps import ROOT, parse

FIRST_PART = parse("0-7")

_TRAINED = re.compile(r"^\[0\] Epoch \d+: ([\d.]+) s since the start of training", re.MULTILINE)


def measure() -> dict:
    """Return {"seconds", "training_seconds", "training_share", "notebooks": {name: seconds}} of one run.

    The first three are the first part's, whose programs print how long they train.
    """
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            [ROOT / "scripts" / "run", "--steps", "all", "--out", out], check=True, stdout=subprocess.DEVNULL
        )
        summary = json.loads((Path(out) / "summary.json").read_text())
        training = sum(_training_seconds(path) for path in Path(out).glob("step_*.ipynb"))
    notebooks = {notebook["name"]: notebook["seconds"] for notebook in summary["notebooks"]}
    seconds = round(sum(notebooks[step.name] for step in FIRST_PART), 1)
    return {
        "seconds": seconds,
        "training_seconds": round(training, 1),
        "training_share": round(training / seconds, 2),
        "notebooks": notebooks,
    }


def _training_seconds(executed: Path) -> float:
    """Add up what rank 0 printed at the end of each of the notebook's runs."""
    seconds = 0.0
    for cell in nbformat.read(executed, as_version=4).cells:
        text = "".join(output.get("text", "") for output in cell.get("outputs", []))
        for run in text.split("$ mpirun")[1:]:
            if found := _TRAINED.findall(run):
                seconds += float(found[-1])
    return seconds
