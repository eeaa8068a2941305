"""The judge, on real ranks in real sandboxes: what is right passes, what is wrong fails at the right place."""

import json
import re
import subprocess
import sys

import jsonschema
import pytest
from corpus import CORRECT
from corpus_wrong import WRONG
from hostile import HOSTILE, UNREADABLE

from course.steps import ROOT, STEPS, get
from grader import sandbox, source
from grader.judge import judge
from grader.pool import Pool

GRADED = [step for step in STEPS if step.check]

# Judged here; scripts/bench judges them all.
SOME_CORRECT = CORRECT[::20]
SOME_WRONG = WRONG[::22]
SOME_HOSTILE = [
    hostile for hostile in HOSTILE if hostile.name in ("exception on rank 1", "memory", "finds the probe by gc")
]


@pytest.fixture(scope="module")
def pool():
    assert sandbox.available() is None
    with Pool() as pool:
        yield pool


def judged(tmp_path, content, step, pool):
    path = tmp_path / "fashion_mnist.py"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return judge(path, step, pool)


def first_failing(report) -> int | None:
    """Return the step of the first failing check, 0 for the check that the program runs."""
    failure = report.first_failure
    return None if failure is None else failure.step if failure.max_points else 0


@pytest.mark.slow
@pytest.mark.parametrize("step", GRADED, ids=lambda step: step.name)
def test_a_starter_fails_its_own_step_and_no_other(step, tmp_path, pool):
    report = judged(tmp_path, step.starter.read_text(), step.number, pool)
    assert report.status == "failed"
    failed = [check.step for check in report.checks if check.status == "failed"]
    assert failed == [step.number]


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 6])
def test_the_last_solution_passes_every_step(number, tmp_path, pool):
    report = judged(tmp_path, get(7).solution.read_text(), number, pool)
    assert report.status == "passed" and report.score == report.max_score == 10 * number


@pytest.mark.slow
@pytest.mark.parametrize("variant", SOME_CORRECT, ids=lambda variant: variant.name)
def test_a_correct_variant_passes(variant, tmp_path, pool):
    report = judged(tmp_path, variant.text(), variant.step, pool)
    assert report.status == "passed", report.first_failure


@pytest.mark.slow
@pytest.mark.parametrize("variant", SOME_WRONG, ids=lambda variant: variant.name)
def test_a_mistake_is_found_where_it_is(variant, tmp_path, pool):
    report = judged(tmp_path, variant.text(), variant.step, pool)
    assert (report.status, first_failing(report)) == ("failed", variant.fails), report.first_failure


@pytest.mark.slow
@pytest.mark.parametrize("hostile", SOME_HOSTILE, ids=lambda hostile: hostile.name)
def test_what_is_hostile_does_not_pass(hostile, tmp_path, pool):
    report = judged(tmp_path, hostile.content, hostile.step, pool)
    assert report.status in hostile.status


@pytest.mark.parametrize("hostile", UNREADABLE, ids=lambda hostile: hostile.name)
def test_what_is_no_script_is_told_without_running_it(hostile, tmp_path, pool):
    report = judged(tmp_path, hostile.content, hostile.step, pool)
    assert report.status == "failed" and report.score == 0
    failure = report.first_failure
    assert re.search(hostile.says, f"{failure.message} line {failure.line}")


@pytest.mark.parametrize("variant", CORRECT, ids=lambda variant: variant.name)
def test_reading_finds_nothing_out_of_place_in_honest_work(variant):
    assert source.read(variant.text()).suspicious == []


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
def test_the_command_prints_one_object_and_nothing_else():
    done = command("check", "--step", "2", "--json", "solutions/fashion_mnist_after_step_01.py")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    jsonschema.validate(report, json.loads((ROOT / "grader" / "schema.json").read_text()))
    assert [check["status"] for check in report["checks"]] == ["passed", "passed", "failed"]
    assert report["checks"][2]["line"] == 57 and report["checks"][2]["hint"]
