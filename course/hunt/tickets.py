"""The ticket of a case as a notebook, and the table of all cases, for JupyterLab."""

import nbformat

from course import steps
from course.hunt import cases, desk
from course.hunt.cases import DIAGNOSIS, Case

NAME = "ticket.ipynb"
DIFFICULTY = "●●●○○○"  # three of these, from place 3 - difficulty on
POINTS = 10

PLACES = """\
Your files: [{script}]({script}), [{diagnosis}]({diagnosis}) · [All hunts](../index.ipynb) · [Toolbox](../toolbox.ipynb)

Diagnose first: write who, which line and why into `{diagnosis}`. Then mend `{script}`."""
OWN = """# Measure here, on a copy of the job if need be. The toolbox has the tools."""


def ticket(case: Case) -> str:
    """Return the notebook of a case, as JSON."""
    own = nbformat.v4
    cells = [
        own.new_markdown_cell(f"# {case.label.capitalize()}: {case.title}\n\n{case.ticket.strip()}", id="ticket"),
        own.new_markdown_cell(PLACES.format(script=case.script, diagnosis=DIAGNOSIS), id="files"),
        own.new_code_cell(f"from grader.hunt.in_notebook import Hunt\n\nhunt = Hunt({case.number})", id="setup"),
        own.new_code_cell("hunt.run()", id="run"),
        own.new_code_cell(OWN, id="own"),
        own.new_markdown_cell("Each of the three hints costs a point:", id="hint-text"),
        own.new_code_cell("hunt.hint()", id="hint"),
        own.new_markdown_cell("The check judges your diagnosis and the mended job, each by itself:", id="check-text"),
        own.new_code_cell("hunt.check()", id="check"),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return str(nbformat.writes(own.new_notebook(cells=cells, metadata=kernel)))


def begin(case: Case) -> None:
    """Put the files of a case and its ticket into the learner's folder; those that are there stay."""
    desk.start(case)
    path = case.work / NAME
    if not path.exists():
        path.write_text(ticket(case), encoding="utf-8")


def difficulty(case: Case) -> str:
    """Return how difficult a case is, in dots."""
    return DIFFICULTY[3 - case.difficulty : 6 - case.difficulty]


def done(case: Case) -> str:
    """Return what the learner has done with a case, in words."""
    known = desk.progress(case)
    points = f"{known.score:g} of {POINTS} points"
    if known.solved:
        return f"✓ solved, {points}"
    hints = f"{known.hints} of {desk.HINTS} hints taken" if known.hints else ""
    return points if known.score else hints


class Overview:
    """The table of all cases, by part, with what the learner has done."""

    def _repr_markdown_(self) -> str:
        """Return the table for a notebook."""
        lines = ["| Hunt | Symptom | Difficulty | Your progress |", "| --: | :-- | :-- | :-- |"]
        for part in steps.PARTS:
            lines.append(f"| | **{part.title[:1].upper()}{part.title[1:]}** | | |")
            for case in cases.cases().values():
                if case.part == part.title:
                    title = f"[{case.title}]({case.name}/{NAME})"
                    lines.append(f"| {case.number} | {title} | {difficulty(case)} | {done(case)} |")
        return "\n".join(lines)


def overview() -> Overview:
    """Put the tickets of all cases into place, and return the table."""
    for case in cases.cases().values():
        begin(case)
    return Overview()
