"""Figures of an executed lesson have an alternative text."""

import json

import pytest

from course import figures, steps
from course.internal import alternatives


def shown(source):
    cell = {"source": source, "outputs": [{"data": {"image/png": "…"}, "metadata": {}}, {"data": {}, "metadata": {}}]}
    alternatives.describe({"cells": [{"source": "# A text"}, cell]})
    assert cell["outputs"][1]["metadata"] == {}
    return cell["outputs"][0]["metadata"].get("image/png", {}).get("alt", "")


def test_a_figure_is_described_by_what_drew_it_and_another_picture_is_left_alone():
    text = shown("import numpy\nfigures.allreduce(\n    np=4,\n)  # four ranks (a ring)")
    assert text and text in figures.allreduce.__doc__.replace("Draw an", "An")
    assert shown("Figure()") == shown("%matplotlib inline\nplt.plot(figures.images_per_second(run, 2))") == ""


@pytest.mark.parametrize("step", steps.STEPS, ids=lambda step: step.name)
def test_each_figure_of_a_lesson_has_a_description(step):
    cells = [cell for cell in json.loads(step.notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    drawn = [cell for cell in cells if "\nfigures." in "\n" + "".join(cell["source"])]
    assert [cell["id"] for cell in drawn if not shown("".join(cell["source"]))] == []
