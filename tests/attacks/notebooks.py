"""Notebooks that tell nbgrader what it should think of them. Each function changes an honest one's JSON."""

from tests.attacks import Aim, Attacks

NOTEBOOKS = Attacks()


def graded(notebook: dict) -> list[dict]:
    """Return the metadata of the graded cells."""
    return [cell["metadata"]["nbgrader"] for cell in notebook["cells"] if cell["metadata"].get("nbgrader")]


def answer(notebook: dict) -> dict:
    """Return the cell with the written answer."""
    return next(cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("solution"))


@NOTEBOOKS.of("judged")
def more_points(notebook: dict, aim: Aim):
    """A cell is worth what the registry says."""
    for named in graded(notebook):
        named["points"] = 1000


@NOTEBOOKS.of("judged")
def other_ids(notebook: dict, aim: Aim):
    """Cells are graded that were released."""
    for number, named in enumerate(graded(notebook)):
        named["grade_id"] = f"mine-{number}"


@NOTEBOOKS.of("judged")
def the_same_ids(notebook: dict, aim: Aim):
    """One cell of each name."""
    notebook["cells"] += [dict(cell) for cell in notebook["cells"] if cell["metadata"].get("nbgrader")]
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{number}"


@NOTEBOOKS.of("judged")
def not_graded(notebook: dict, aim: Aim):
    """A cell stays graded, and no old score of it stays."""
    for named in graded(notebook):
        named["grade"] = named["locked"] = False


@NOTEBOOKS.of("judged")
def all_solutions(notebook: dict, aim: Aim):
    """What the judge grades stays the judge's."""
    for named in graded(notebook):
        named["solution"] = True


@NOTEBOOKS.of("judged")
def tasks(notebook: dict, aim: Aim):
    """And is no task."""
    for named in graded(notebook):
        named["task"], named["grade"] = True, False


@NOTEBOOKS.of("judged")
def strange_metadata(notebook: dict, aim: Aim):
    """It is not looked at."""
    for cell in notebook["cells"]:
        cell["metadata"]["nbgrader"] = ["grade"]


@NOTEBOOKS.of("judged")
def results_of_its_own(notebook: dict, aim: Aim):
    """Results are the judge's to write."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            result = {"output_type": "execute_result", "data": {"text/plain": "10.0"}, "metadata": {}}
            cell["outputs"] = [result | {"execution_count": 1}]


@NOTEBOOKS.of("judged")
def no_cells(notebook: dict, aim: Aim):
    """They are there again."""
    notebook["cells"] = []


@NOTEBOOKS.of("judged")
def many_cells(notebook: dict, aim: Aim):
    """They are not gone through."""
    notebook["cells"] *= 2000


@NOTEBOOKS.of("judged")
def many_cells_of_an_older_format(notebook: dict, aim: Aim):
    """Nor are these."""
    notebook["nbformat"] = 3
    notebook["worksheets"] = [{"cells": notebook.pop("cells") * 2000}]


@NOTEBOOKS.of("judged")
def another_kernel(notebook: dict, aim: Aim):
    """None is started."""
    notebook["metadata"]["kernelspec"] = {"name": "../../evil", "display_name": "x", "language": "python"}


@NOTEBOOKS.of("judged")
def code_in_cells(notebook: dict, aim: Aim):
    """None is run."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = f"open('{aim.outside}/planted', 'w')"


@NOTEBOOKS.of("judged")
def a_script_for_the_browser(notebook: dict, aim: Aim):
    """An answer is shown as text."""
    answer(notebook)["source"] = "~~~\n<script>fetch('/api/contents')</script> [x](javascript:alert(1))\n~~~~~~"


@NOTEBOOKS.of("judged")
def a_script_in_a_remark(notebook: dict, aim: Aim):
    """And so is a remark that no grader made."""
    notebook["cells"][0]["metadata"]["remarks"] = True
    notebook["cells"][0]["source"] = "<script>fetch('/api/contents')</script>"


@NOTEBOOKS.of("judged")
def deep_json(notebook: dict, aim: Aim):
    """It is not read to its end."""
    return "[" * 200_000


@NOTEBOOKS.of("judged")
def another_format(notebook: dict, aim: Aim):
    """It is not read."""
    notebook["nbformat"] = 99


@NOTEBOOKS.of("judged")
def half_a_character(notebook: dict, aim: Aim):
    """What no file can hold is not written."""
    answer(notebook)["source"] = "\ud800"


@NOTEBOOKS.of("judged")
def an_answer_that_takes_long_to_show(notebook: dict, aim: Aim):
    """It is cut."""
    answer(notebook)["source"] = "[" * 2_000_000
