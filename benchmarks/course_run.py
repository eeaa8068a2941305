"""How long steps 0 to 7 take headless, and how much of that is training."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import nbformat

from course.steps import ROOT

_TRAINED = re.compile(r"^\[0\] Epoch \d+: ([\d.]+) s since the start of training", re.MULTILINE)


def measure() -> dict:
    """Return {"seconds", "training_seconds", "training_share", "notebooks": {name: seconds}} of one run."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([ROOT / "scripts" / "run", "--out", out], check=True, stdout=subprocess.DEVNULL)
        summary = json.loads((Path(out) / "summary.json").read_text())
        training = sum(_training_seconds(path) for path in Path(out).glob("step_*.ipynb"))
    return {
        "seconds": summary["seconds"],
        "training_seconds": round(training, 1),
        "training_share": round(training / summary["seconds"], 2),
        "notebooks": {notebook["name"]: notebook["seconds"] for notebook in summary["notebooks"]},
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
