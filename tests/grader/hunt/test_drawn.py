"""Cases that a seed draws."""

import pytest

from course.hunt import cases
from grader.hunt import proving
from grader.mutants import drawn
from grader.runner.pool import Pool


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Have learners' files in a folder of the test."""
    monkeypatch.setattr(cases, "WORK", tmp_path)
    return tmp_path


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_a_seed_gives_a_case_that_can_be_diagnosed(seed):
    for mutant in drawn.candidates(seed)[:3]:
        case = drawn.of_mutant(seed, mutant)
        assert case.broken != case.works
        assert case.lines
        assert case.diagnosis.cause in case.causes
        assert len(case.causes) == drawn.CHOICES
        assert case.number == seed


def test_seeds_give_the_same_case_again_and_others_other_ones():
    ids = [tuple(mutant.id for mutant in drawn.candidates(seed)) for seed in (1000, 1000, 1001, 1002)]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_a_case_is_found_once_it_was_made(work):
    mutant = drawn.candidates(1000)[0]
    with pytest.raises(KeyError):
        drawn.find(1000)
    drawn.keep(1000, mutant)
    assert drawn.find(1000).broken == drawn.of_mutant(1000, mutant).broken


def test_no_choice_means_the_same_as_the_cause():
    for seed in range(1000, 1030):
        for mutant in drawn.candidates(seed):
            others = set(drawn.of_mutant(seed, mutant).causes) - {mutant.mutator.replace(" ", "_")}
            assert not any(drawn._alike(name.replace("_", " "), mutant.mutator) for name in others)


@pytest.mark.slow
def test_the_judge_proves_a_case_wrong_before_it_is_shown(work):
    with Pool() as pool:
        case = proving.make(2024, pool)
        mutant = drawn.kept(2024)
        assert proving.is_wrong(mutant, pool)
    assert case.broken == drawn.of_mutant(2024, mutant).broken
