"""The judge, on real ranks in real sandboxes: what is right passes, what is wrong fails at the right place."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest

from course.steps import ROOT, STEPS, get, up_to
from grader import sandbox, source
from grader.judge import judge
from grader.pool import SECONDS, Pool
from tests.corpus import CORRECT, HOSTILE, UNREADABLE, WRONG

GRADED = [step for step in STEPS if step.check]

# All rows would take hours: these are the marked ones, and all hostile files. scripts/bench judges the whole corpus.
RUN = [
    *(row for rows in (*CORRECT.values(), *WRONG.values()) for row in rows if row.in_ci),
    *(hostile for hostile in HOSTILE if hostile not in UNREADABLE),
]


@pytest.fixture(scope="module")
def pool():
    assert sandbox.available() is None
    with Pool() as pool:
        yield pool


@pytest.fixture(scope="module")
def judgements(request, pool, tmp_path_factory):
    """Judge the scripts that the collected tests ask for, two at a time, and return what becomes of each."""
    scripts = [item.callspec.params["script"] for item in request.session.items if "judgements" in item.fixturenames]
    with ThreadPoolExecutor(2) as threads:
        yield {script: threads.submit(judged, tmp_path_factory.mktemp("script"), script, pool) for script in scripts}


def judged(folder, script, pool):
    path = folder / get(script.step).script
    text = script.text()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return judge(path, script.step, pool, 12 if script in HOSTILE else SECONDS)  # some of them never end


@pytest.mark.slow
@pytest.mark.parametrize("step", GRADED, ids=lambda step: step.name)
def test_a_starter_fails_its_own_step_and_no_other(step, pool):
    report = judge(step.starter, step.number, pool)
    assert report.status == "failed"
    assert {check.step for check in report.checks if check.status == "failed"} == {step.number}


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 11, 14, 15, 16])
def test_the_last_solution_passes_every_step(number, pool):
    last = max(step.number for step in GRADED if step.script == get(number).script)
    report = judge(get(last).solution, number, pool)
    assert report.status == "passed" and report.score == report.max_score == 10 * len(up_to(number))


@pytest.mark.slow
@pytest.mark.parametrize("script", RUN, ids=lambda script: f"{script.step} {script.name}")
def test_a_script_gets_the_report_that_it_deserves(script, judgements):
    report = judgements[script].result()
    assert script.deserves(report), (report.status, report.first_failure)


@pytest.mark.parametrize("script", UNREADABLE, ids=lambda script: script.name)
def test_what_is_no_script_is_told_without_running_it(script, tmp_path, pool):
    report = judged(tmp_path, script, pool)
    assert script.deserves(report) and report.score == 0


@pytest.mark.parametrize("variant", CORRECT["horovod"], ids=lambda variant: variant.name)
def test_reading_finds_nothing_out_of_place_in_honest_work(variant):
    assert source.read(variant.text()).suspicious == []


@pytest.mark.parametrize(
    "variant", [*CORRECT["production"], *CORRECT["tf.distribute"]], ids=lambda variant: variant.name
)
def test_reading_allows_files_where_a_program_has_business_with_them(variant):
    assert source.read(variant.text(), source.FILES).suspicious == []


@pytest.mark.parametrize("path", ["os.devnull", "'/dev/null'"])
def test_reading_lets_a_rank_be_silenced(path):
    assert source.read(f"import os, sys\nsys.stdout = sys.stderr = open({path}, 'w')").suspicious == []


@pytest.mark.parametrize(
    "code",
    [
        "import ctypes",
        "import gc",
        "from os import system",
        "import sys; sys.modules",
        "eval('1')",
        "open('x')",
        "import horovod.tensorflow.keras as hvd; hvd.rank = None",
        "import tensorflow as tf; tf.keras.Model.fit = None",
        "().__class__",
        "getattr(x, y)",
        "p = '/proc/self'",
        "import os; os.environ['HOROVOD_RANK']",
        "import sys; sys.stdout = open('x', 'w')",
        "import sys; sys.exit = None",
        "class os:\n    devnull = 5\nopen(os.devnull, 'w')",
        "import os; open(os.devnull, 'w', opener=lambda *_: 5)",
    ],
)
def test_reading_finds_what_has_no_business_in_a_lesson(code):
    assert source.read(code).suspicious


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "grader", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_a_file_that_is_not_there_is_not_graded():
    done = command("check", "--step", "3", "--json", "nowhere.py")
    assert done.returncode == 2
    report = json.loads(done.stdout)
    jsonschema.validate(report, json.loads((ROOT / "grader" / "schema.json").read_text()))
    assert report["status"] == "not_graded" and "No such file" in report["checks"][0]["message"]


def test_a_step_without_a_check_is_not_graded():
    done = command("check", "--step", "99", "--json", "solutions/fashion_mnist.py")
    assert done.returncode == 2 and json.loads(done.stdout)["status"] == "not_graded"


@pytest.mark.slow
def test_which_of_two_processes_was_first_does_not_change_the_report(pool, tmp_path):
    row = next(row for row in WRONG["tf.distribute"] if row.name == "one index twice")
    message = judged(tmp_path, row, pool).first_failure.message
    assert "do the same task" in message and "orker" not in message and "127.0.0.1" not in message


@pytest.mark.slow
def test_ranks_that_wait_for_good_are_judged_by_what_they_did_before(pool, tmp_path):
    row = next(row for row in WRONG["horovod"] if row.name == "broadcast on rank 0 only")
    report = judged(tmp_path, row, pool)
    assert "waits for good after the first batch, in broadcast" in report.first_failure.message
    assert [check.status for check in report.checks] == ["passed"] * 3 + ["failed"] * 2 and report.score == 30


@pytest.mark.slow
def test_a_step_that_breaks_the_program_earns_nothing(pool, tmp_path):
    path = tmp_path / "fashion_mnist.py"
    path.write_text(get(2).solution.read_text() + "raise ValueError('too bad')\n")
    report = judge(path, 2, pool)
    assert report.status == "failed" and "ValueError: too bad" in report.first_failure.message
    assert report.score == 10 and "once the program runs to its end" in report.checks[-1].message


@pytest.mark.slow
def test_the_command_prints_one_object_and_nothing_else():
    script = "solutions/fashion_mnist_after_step_01.py"
    done = command("check", "--step", "2", "--json", script)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    jsonschema.validate(report, json.loads((ROOT / "grader" / "schema.json").read_text()))
    assert [check["status"] for check in report["checks"]] == ["passed", "passed", "failed"]
    lines = (ROOT / script).read_text().splitlines()
    assert lines[report["checks"][2]["line"] - 1] == "verbose = 1" and report["checks"][2]["hint"]
