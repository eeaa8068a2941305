"""Capstone 2: what is not judged of ranks that do not know of each other."""

import pytest

from grader.checks import capstone_2
from grader.checks.production import resume


@pytest.mark.parametrize("judge", [resume.saved_each_epoch, resume.renamed, resume.goes_on, resume.loaded_everywhere])
def test_what_chance_decides_among_ranks_that_save_to_one_name_waits_for_horovod(judge):
    check = next(check for check in capstone_2.part.of(10) if check.judge is judge)
    assert capstone_2.initialised in check.needs
