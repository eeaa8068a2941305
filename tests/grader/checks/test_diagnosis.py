"""Step 6b: answers in other words pass, a wrong one is met with the evidence to look at, and the solution is true."""

import contextlib
import re
import time

import pytest

from course import figures, hang
from course.steps import get
from grader import checks
from grader.checks import diagnosis
from grader.judge import judge
from grader.reading import form
from grader.reading.parsing import NoScriptError
from tests.corpus import CORRECT, WRONG

STEP = get("6b")
RIGHT = diagnosis._solution()


def judged(tmp_path, text):
    path = tmp_path / STEP.script
    path.write_bytes(text.encode())
    return judge(path, STEP.number, pool=None)  # nothing is run


@pytest.mark.parametrize("row", [*CORRECT["diagnosis"], *WRONG["diagnosis"]], ids=lambda row: row.name)
def test_a_diagnosis_gets_the_report_that_it_deserves(row, tmp_path):
    report = judged(tmp_path, row.text())
    assert row.deserves(report), (report.status, report.first_failure)
    assert report.status == "passed" or not re.search(r"^(?!.*The file).*[^-]not valid", report.first_failure.message)


@pytest.mark.parametrize("row", [row for row in WRONG["diagnosis"] if row.check], ids=lambda row: row.name)
def test_a_wrong_answer_costs_its_own_points_only(row, tmp_path):
    report = judged(tmp_path, row.text())
    failed = [check for check in report.checks if check.status == "failed"]
    assert report.max_score == 10 and report.score == 10 - sum(check.max_points for check in failed)
    assert len(failed) == 1 or "has no table" in failed[0].message


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("rank = 1", "rank = 2", "[job_1] rank = 2 is not the one. Expected: the rank that the others wait for.", 7),
        ("rank = 1", 'rank = ""', "[job_1] has no rank yet. Expected: the rank that the others wait for.", 7),
        ("line = 16", "line = 300", "[job_2] line = 300 is outside of job_2.py, which has 31 lines.", 13),
        ('"broadcast"', '"wait"', '[job_3] collective = "wait" names none of allreduce, allgather, broadcast,', 19),
        (
            "[job_2]",
            "[job_two]",
            "The file has no table [job_2], and has [job_two]. Expected: [job_2], with rank, line",
            11,
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_the_answer_is_not(old, new, message, line, tmp_path):
    found = judged(tmp_path, STEP.solution.read_text().replace(old, new)).first_failure
    assert found.message.startswith(message) and found.line == line
    assert found.hint


def test_no_hint_has_an_answer():
    for check in checks.of(STEP.number).of(STEP.number):
        job = check.judge.__name__[:5]
        assert not re.search(
            rf"rank {RIGHT[job]['rank']}|\b{RIGHT[job]['line']}\b|{RIGHT[job]['collective']}", check.hint
        )


@pytest.mark.parametrize(
    ("text", "why", "line"),
    [
        ("[a]\nrank = allreduce\n", "Invalid value", 2),
        ('[a]\nb = "c\n', "Illegal character", 2),
        ("[a]\n\nb = [1,", "Invalid value", 3),
        ("[a]\n[a]\n", "Cannot declare ('a',) twice", 2),
        ("a = " + "[" * 7_000, "nested too deep", 1),
    ],
)
def test_a_file_that_is_no_toml_is_met_with_the_line(text, why, line):
    with pytest.raises(NoScriptError, match=re.escape(why)) as raised:
        form.read(text)
    assert raised.value.line == line


@pytest.mark.parametrize("text", ["a." * 3_900 + "a = 1", "[" + "a." * 3_900 + "a]\n", "a = 1\n" * 10_000])
def test_a_hostile_file_takes_no_time(text):
    began = time.monotonic()
    with contextlib.suppress(NoScriptError):
        form.read(text)
    assert time.monotonic() - began < 20


@pytest.mark.slow
@pytest.mark.parametrize("job", diagnosis.JOBS)
def test_the_solution_is_what_real_runs_show(job, tmp_path, monkeypatch, leftovers, capsys):
    monkeypatch.chdir(tmp_path)
    answer, timeline = RIGHT[job], tmp_path / "timeline.json"
    stacks = {}

    def look(ranks):
        assert set(ranks) == set(range(hang.RANKS))
        hang.py_spy(ranks)
        hang.ask_faulthandler(ranks)

    found = hang.run(hang.JOBS / f"{job}.py", look=look, variables=figures.timeline_variables(timeline))
    others = set(range(hang.RANKS)) - {answer["rank"]}
    # The warning: the named rank is missing in the named collective, and the others are not.
    lines = {int(line.split()[1].strip("!:")): line for line in found.warning()[1:]}
    assert answer["collective"] in lines[answer["rank"]].lower()
    assert not any(answer["collective"] in lines.get(rank, "").lower() for rank in others)
    # The timeline: the others wait in it, and the named rank does not.
    waits = [each for each in figures.read_timeline(timeline) if each.start is None]
    (wait,) = [each for each in waits if set(each.arrivals) == others][:1]
    assert answer["collective"] in wait.tensor.lower()
    # The stacks: the named rank is at the named line.
    for line in found.tracebacks():
        rank, at = re.match(r"rank (\d): \w+\.py, line (\d+) ", line).groups()
        stacks.setdefault(int(rank), []).append(int(at))
    program = (hang.JOBS / f"{job}.py").read_text()
    same = diagnosis.same_place(program, answer["line"])
    assert set(stacks[answer["rank"]]) <= same
    assert not any(set(stacks[rank]) & same for rank in others)
    printed = capsys.readouterr().out
    assert f"({job}.py:{min(same)})" in printed or f"({job}.py:{max(same)})" in printed or "cannot attach" in printed
    assert leftovers() == []
