"""Recorded outputs of a lesson about hosts, for machines on which no hosts can be made.

    python -m course.hosts.recorded out/step_18.ipynb notebooks/step_18

takes the outputs of an executed lesson, and writes recorded.json into the lesson's folder: {source of a cell: outputs}.
A prediction is compared with the value that was measured when the lesson was recorded.
"""

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

from IPython import get_ipython
from IPython.display import publish_display_data

from course import puzzle
from course.hosts.cluster import forbidden
from course.steps import ROOT

NAME = "recorded.json"
# Cells with what the learner wrote, of which there is no record, and one that tries it without hosts.
LIVE = re.compile(r"check-run|own-run|.*-answer")  # their ids
MARK = "[recorded on another machine]"


def instead(folder: str | Path = ".", lacks: str | None = None, without: str = "") -> None:
    """Where no hosts can be made, say why, and have the lesson's cells show recorded outputs when they are run.

    A cell that was edited runs as usual.

    Args:
        folder: where the record is.
        lacks: what else the lesson needs and this machine lacks, as a message; None if it lacks nothing.
        without: a word in the cells that run on hosts without what is lacking.
    """
    no_hosts = forbidden()
    why = no_hosts or lacks
    if not why:
        return
    print(f"{why}\n\nThe cells below show outputs that were recorded on another machine, and do not run.")
    recorded = json.loads(Path(folder, NAME).read_text())

    def in_its_place(lines: list[str]) -> list[str]:
        source = "".join(lines).strip()
        if source not in recorded or (without and not no_hosts and without in source):
            return lines
        if values := measured(recorded[source]):
            return answered(source, values)
        shell.user_ns["show_recorded"] = show
        shell.user_ns["recorded_outputs"] = recorded[source]
        return ["show_recorded(recorded_outputs)\n"]

    shell = get_ipython()
    shell.input_transformers_cleanup.append(in_its_place)


def measured(outputs: list[dict[str, Any]]) -> list[puzzle.Answer]:
    """Return the values in recorded outputs of a cell with which its predictions are compared."""
    shown = [output.get("data", {}) for output in outputs]
    return [data[puzzle.MEASURED] for data in shown if puzzle.MEASURED in data]


def answered(source: str, recorded: list[puzzle.Answer]) -> list[str]:
    """Return lines that compare the learner's predictions with recorded values, in place of those of this machine.

    Args:
        source: of a cell that calls puzzle.predicted() and, for the measured values, names that this machine lacks.
        recorded: the value of each of these calls.
    """
    lines = [f"print({MARK!r})\n"]
    values = iter(recorded)
    for statement in ast.parse(source).body:
        match statement:
            case ast.Expr(ast.Call(ast.Attribute(attr="predicted")) as call):
                call.args[3] = ast.Constant(next(values))
                lines.append(f"{ast.unparse(call)}\n")
    return lines


def show(outputs: list[dict[str, Any]]) -> None:
    """Display recorded outputs of a cell, marked as such.

    Args:
        outputs: in the notebook format.
    """
    print(MARK)
    for output in outputs:
        if output["output_type"] == "stream":
            print("".join(output["text"]), end="")
        else:
            publish_display_data(output["data"])


def record(executed: Path, folder: Path) -> None:
    """Write the outputs of the cells after the setup cell of an executed lesson into recorded.json."""
    cells = json.loads(executed.read_text())["cells"]
    after = next(number for number, cell in enumerate(cells) if cell["id"] == "setup") + 1
    kept = {}
    for cell in cells[after:]:
        if cell["cell_type"] == "code" and not LIVE.fullmatch(cell["id"]):
            outputs = [
                {name: output[name] for name in ("output_type", "text", "data") if name in output}
                for output in cell["outputs"]
            ]
            kept["".join(cell["source"])] = outputs
    text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
    (folder / NAME).write_text(text.replace(f"{ROOT}/", ""))  # another machine has other folders


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]))
