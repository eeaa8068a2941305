"""The mutants that scripts/bench judges: whether the mutators still apply to the solutions."""

import ast

import pytest

from benchmarks.mutants import GRADED
from grader.mutants import of
from grader.mutants.mutators import MUTATORS


@pytest.mark.parametrize("step", GRADED, ids=lambda step: step.name)
def test_a_solution_has_mutants_that_are_other_valid_programs(step):
    solution, mutants = step.solution.read_text(), of(step)
    assert len(mutants) >= 15
    texts = solution, *(mutant.text for mutant in mutants)
    assert len({ast.dump(ast.parse(text)) for text in texts}) == len(texts)
    for mutant in mutants:
        assert mutant.before.partition(" ")[0] in solution.splitlines()[mutant.line - 1]


def test_each_mutator_makes_some():
    assert {mutant.mutator for step in GRADED for mutant in of(step)} == set(MUTATORS)
