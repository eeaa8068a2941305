"""A NameError in a lesson: the cell that would have made the name failed, or was not run."""

import re

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from course.internal import missing_names


@pytest.fixture
def shell():
    own = InteractiveShell()
    missing_names.explain(own)
    return own


@pytest.mark.parametrize(
    "cell", ["run = 1 / 0", "1 / 0\nimport numpy as run", "1 / 0\ndef run(): pass", "%pwd\n1 / 0\nrun = 2"]
)
def test_a_name_of_a_cell_that_failed_leads_to_that_cell(shell, cell):
    with capture_output() as seen:
        shell.run_cell(cell, store_history=True)
        result = shell.run_cell("print(run.records)", store_history=True)
    assert isinstance(result.error_in_exec, NameError)
    (line,) = [line for line in seen.stdout.splitlines() if "NameError" in line]
    assert "`run`" in line and "records" not in seen.stdout


def test_another_name_has_its_traceback_and_advice(shell):
    with capture_output() as seen:
        shell.run_cell("rum = 1", store_history=True)
        shell.run_cell("print(run)", store_history=True)
    plain = re.sub(r"\x1b\[[\d;]*m", "", seen.stdout)
    assert "----> 1 print(run)" in plain and "name 'run' is not defined" in plain
    assert plain.rstrip().splitlines()[-1].endswith("from the first one on.")
