"""The judge, on real ranks in real sandboxes: what is right passes, what is wrong fails at the right place."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course.steps import ROOT, get
from grader import checks
from grader.__main__ import main
from grader.judge import judge
from grader.runner import expectations
from grader.runner.pool import SECONDS, Pool
from grader.sandbox import policy
from grader.terms.report import schema
from tests.corpus import CORRECT, HOSTILE, PUZZLES, UNREADABLE, WRONG
from tests.corpus.hostile import TIMEOUT
from tests.grader.reading.test_parsing import RENAMED, names, rewritten

# Those of the first part. The corpus has the others.
STARTERS = [get(number) for number in range(1, 7)]

# All rows would take hours: these are the marked ones, and the hostile files that are run. scripts/bench judges all.
RUN = [
    *(row for rows in (*CORRECT.values(), *WRONG.values(), *PUZZLES.values()) for row in rows if row.in_ci),
    *(row for row in HOSTILE if row.in_ci and row not in UNREADABLE),
]


@pytest.fixture(scope="module")
def pool():
    assert policy.available() is None
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
    return judge(path, script.step, pool, limit(script))


def limit(script):
    """Return the seconds that a script has: few, where it never ends."""
    return 6 if script in HOSTILE and TIMEOUT in script.says else SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("step", STARTERS, ids=lambda step: step.name)
def test_a_starter_fails_its_own_step_and_no_other(step, pool):
    report = judge(step.starter, step.number, pool)
    assert report.status == "failed"
    assert {check.step for check in report.checks if check.status == "failed"} == {step.number}


@pytest.mark.slow
@pytest.mark.parametrize("number", [11, 14, 15])
def test_the_last_solution_passes_every_step(number, pool):
    part = checks.of(number)
    report = judge(part.checks[-1].step.solution, number, pool)
    points = sum(check.points for check in part.up_to(number))
    assert report.status == "passed" and report.score == report.max_score == points


@pytest.mark.slow
@pytest.mark.parametrize("script", RUN, ids=lambda script: f"{script.step} {script.name}")
def test_a_script_gets_the_report_that_it_deserves(script, judgements):
    report = judgements[script].result()
    assert script.deserves(report), (report.status, report.first_failure)


@pytest.mark.parametrize("script", UNREADABLE, ids=lambda script: script.name)
def test_what_is_no_script_is_told_without_running_it(script, tmp_path, pool):
    report = judged(tmp_path, script, pool)
    assert script.deserves(report) and report.score == 0


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "grader", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_a_file_that_is_not_there_is_not_graded():
    done = command("check", "--step", "3", "--json", "nowhere.py")
    assert done.returncode == 2
    report = json.loads(done.stdout)
    jsonschema.validate(report, schema())
    assert report["status"] == "not_graded" and "No such file" in report["checks"][0]["message"]


def test_a_step_without_a_check_is_not_graded():
    done = command("check", "--step", "99", "--json", "solutions/fashion_mnist.py")
    assert done.returncode == 2 and json.loads(done.stdout)["status"] == "not_graded"


@pytest.mark.parametrize(("number", "says"), [("18", "no file ends with .sh"), ("7", "Step 7 has no check")])
def test_a_folder_without_anything_to_judge_is_an_error(number, says, tmp_path):
    (tmp_path / "fashion_mnist.py").touch()
    done = CliRunner().invoke(main, ["batch", "--step", number, str(tmp_path)])
    assert done.exit_code == 1 and says in done.output


def test_a_batch_waits_for_no_pipe_and_judges_no_copies_of_an_editor(tmp_path):
    os.mkfifo(tmp_path / "fashion_mnist.py")
    for folder in (".ipynb_checkpoints", "__MACOSX"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "fashion_mnist.py").touch()
    done = CliRunner().invoke(main, ["batch", "--step", "3", str(tmp_path)])
    assert done.exit_code == 1 and "no script of step 3" in done.output
    done = CliRunner().invoke(main, ["check", "--step", "3", str(tmp_path / "fashion_mnist.py")])
    assert done.exit_code == 2 and "not a regular file" in done.output


@pytest.mark.slow
def test_which_of_two_processes_was_first_does_not_change_the_report(pool, tmp_path):
    row = next(row for row in WRONG["multi_worker"] if row.name == "one index twice")
    message = judged(tmp_path, row, pool).first_failure.message
    assert "do the same task" in message and "orker" not in message and "127.0.0.1" not in message


@pytest.mark.slow
def test_ranks_that_wait_for_good_are_judged_by_what_they_did_before(pool, tmp_path):
    row = next(row for row in WRONG["horovod"] if row.name == "broadcast on rank 0 only")
    report = judged(tmp_path, row, pool)
    message = report.first_failure.message
    assert (
        "rank 0 waits in the broadcast of the variables; rank 1 never joins it: it waits in the average of" in message
    )
    statuses = ["passed"] * 4 + ["skipped"] + ["passed"] * 4 + ["failed"] * 2  # no cluster is run after a deadlock
    assert [check.status for check in report.checks] == statuses and report.score == 28


@pytest.mark.slow
def test_a_step_that_breaks_the_program_earns_nothing(pool, tmp_path):
    path = tmp_path / "fashion_mnist.py"
    path.write_text(get(2).solution.read_text() + "raise ValueError('too bad')\n")
    report = judge(path, 2, pool)
    assert report.status == "failed" and "ValueError: too bad" in report.first_failure.message
    assert report.score == 10 and "once it runs to completion" in report.checks[-1].message


@pytest.mark.slow
def test_the_command_prints_one_object_and_nothing_else():
    script = "solutions/fashion_mnist_after_step_01.py"
    done = command("check", "--step", "2", "--json", script)
    assert done.returncode == 1
    report = json.loads(done.stdout)
    jsonschema.validate(report, schema())
    failed = [check for check in report["checks"] if check["status"] == "failed"]
    assert failed and {check["step"] for check in failed} == {2}
    lines = (ROOT / script).read_text().splitlines()
    assert lines[failed[0]["line"] - 1] == "verbose = 1" and failed[0]["hint"]


@pytest.mark.slow
def test_a_full_temporary_folder_is_no_verdict_and_still_one_object(tmp_path):
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    check = f"{sys.executable} -m grader check --step 3 --json solutions/fashion_mnist_after_step_03.py"
    full = f'mount -t tmpfs -o size=64k none "$0" && TMPDIR=$0 exec {check}'  # where the judge's images find no room
    command = ["unshare", "--mount", *user, "sh", "-c", full, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    report = json.loads(done.stdout)
    jsonschema.validate(report, schema())
    assert report["status"] == "not_graded" and "No space left" in report["checks"][0]["message"]


@pytest.mark.parametrize("fault", [ZeroDivisionError, ValueError, OSError])
def test_a_fault_of_the_grader_is_no_verdict(tmp_path, monkeypatch, fault):
    def broken(*arguments):
        raise fault("broken")

    monkeypatch.setattr(expectations, "of", broken)
    path = tmp_path / "fashion_mnist.py"
    path.write_text(get(6).solution.read_text())
    report = judge(path, 6, pool=None)
    assert (report.status, report.score) == ("not_graded", 0)
    assert "The grader broke: " in report.first_failure.message


@pytest.mark.slow
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=st.sampled_from(RENAMED), new=names.filter(lambda name: name not in get(6).solution.read_text()))
def test_other_names_and_no_comments_pass(pool, tmp_path, old, new):
    path = tmp_path / "fashion_mnist.py"
    path.write_text(rewritten(old, new))
    report = judge(path, 6, pool)
    assert report.status == "passed", report.first_failure
