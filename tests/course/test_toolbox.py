"""The lesson on the hunter's tools, as a learner runs it: each tool finds what it is there to find."""

import re

import nbformat
import pytest
from nbclient import NotebookClient

from course.hosts.cluster import forbidden
from course.steps import NOTEBOOKS


@pytest.mark.slow
def test_each_tool_finds_its_fault(tmp_path, leftovers):
    lesson = nbformat.read(NOTEBOOKS / "hunt" / "toolbox.ipynb", as_version=4)
    NotebookClient(lesson, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = {
        cell.id: "".join(output.get("text", "") for output in cell.outputs)
        for cell in lesson.cells
        if cell.cell_type == "code"
    }
    assert "batch 0" in printed["checksum-run"]
    assert "image 301 of all" in printed["bisect-run"]
    assert "Missing ranks" in printed["hang-run"]
    assert "job_3.py" in printed["hang-run"]
    assert printed["binding-run"].count("may run on cores [0]\n") == 2
    if not forbidden():
        eth0, eth1 = re.findall(r"^ +[\d.]+([kM]?) ", printed["network-run"], re.MULTILINE)
        assert (eth0, eth1) == ("k", "M")
    assert leftovers() == []
