"""The cases of the hunt: whether each is complete, and can be diagnosed and mended."""

import ast
import re
import subprocess
from collections import Counter

import pytest

from course import steps
from course.hunt import cases, desk
from grader.checks import diagnosed
from tests.corpus.repairs import REPAIRS

CASES = list(cases.cases().values())
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_there_are_cases_of_all_parts_and_kinds():
    assert len(CASES) >= 30
    assert [case.number for case in CASES] == list(range(1, len(CASES) + 1))
    assert {case.part for case in CASES} == {part.title for part in steps.PARTS if part.first < steps.CAPSTONE}
    of_environment = [case for case in CASES if not case.script.endswith(".py") or case.job.faults]
    assert len(of_environment) >= len(CASES) / 3
    assert any(cases.NOTHING in case.diagnosis.who for case in CASES), "there is no false alarm"
    assert max(Counter(case.title for case in CASES).values()) == 1


def test_every_file_in_hunt_belongs_to_a_case():
    known = {case.folder for case in CASES}
    for path in cases.FOLDER.iterdir():
        assert path in known, path
    for case in CASES:
        own = {"case.toml", "ticket.md", case.base} | {f"given/{path.name}" for path in case.folder.glob("given/*")}
        for path in case.folder.rglob("*"):
            assert path.is_dir() or str(path.relative_to(case.folder)) in own, path


@each_case
def test_a_case_has_what_a_learner_needs(case):
    assert bool(case.judged) != bool(case.proof)
    assert case.difficulty in (1, 2, 3)
    assert len(case.hints) == desk.HINTS
    assert len(case.causes) >= 4
    assert case.diagnosis.cause in case.causes
    assert len({cause.says for cause in case.causes.values()}) == len(case.causes)
    assert all(re.fullmatch(r"[\w.-]+#\d+", issue) for issue in case.known_from)
    assert case.ticket.startswith("From: ")
    for fault in case.job.faults:
        assert fault.host in case.job.slots


@each_case
def test_a_broken_program_is_valid_and_has_no_note_of_the_course(case):
    broken = case.broken
    assert broken != case.works
    assert bool(case.lines) == (cases.NOTHING not in case.diagnosis.who)
    assert not re.search(r"# (?:TODO: )?Step \d", broken)
    if case.script.endswith(".py"):
        ast.parse(broken)
    elif "python" not in broken.partition("\n")[0]:
        subprocess.run(["bash", "-n"], input=broken, text=True, check=True)


@each_case
def test_the_right_diagnosis_passes_and_each_wrong_answer_fails(case, tmp_path):
    lines = case.lines
    right = {"who": case.diagnosis.who[0], "line": min(lines, default=cases.NOTHING), "cause": case.diagnosis.cause}
    far = next(number for number in range(1, 1000) if all(abs(number - line) > 1 for line in lines))
    other = next(name for name in case.causes if name != case.diagnosis.cause)
    for field, value in (None, None), ("who", "rank 77"), ("line", far), ("cause", other), ("who", ""), ("line", "x"):
        path = tmp_path / "diagnosis.toml"
        answers = right | ({field: value} if field else {})
        path.write_text("".join(f'{name} = "{answer}"\n' for name, answer in answers.items()))
        outcomes = dict(zip(right, diagnosed.judge(path, case), strict=True))
        assert {name for name, each in outcomes.items() if each.status != "passed"} == ({field} if field else set())


@each_case
def test_a_case_has_three_repairs_and_two_tries_that_are_none(case):
    rows = [row for row in REPAIRS if row.number == case.number]
    assert sum(row.right for row in rows) >= 2, "besides its undoing"
    assert sum(not row.right for row in rows) >= 1, "besides the file as it is"
    texts = [case.broken, case.works, *(row.text() for row in rows)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("answer", ["rank 1", "Rank 1", "1", "rank1", "on rank 1"])
def test_a_rank_may_be_named_in_several_ways(answer):
    assert diagnosed._plain(answer) == "rank1"


@pytest.mark.parametrize("answer", ["ranks 1 and 2", "rank 2, rank 1", "1 and 2", [1, 2]])
def test_several_ranks_may_be_named_in_several_ways(answer):
    assert diagnosed._plain(answer) == "rank1+2"


@pytest.mark.parametrize("answer", ["all", "All ranks", "every rank", "all of the ranks", "each worker"])
def test_all_ranks_may_be_named_in_several_ways(answer):
    assert diagnosed._plain(answer) == "all"
