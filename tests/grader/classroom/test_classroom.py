"""The instructor's side, with nbgrader's own commands: from release to released feedback."""

import csv
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from course.steps import ROOT, get
from grader import checks
from grader.classroom import autograde, grade, release, verdicts
from grader.runner import expectations
from grader.sandbox import policy
from tests.conftest import listen_to_interrupts
from tests.school import School

STEP = get(1)
CELLS = {release.grade_id(check): check.points for check in checks.of(STEP.number).of(STEP.number)}
HONEST, STARTER = STEP.solution.read_text(), STEP.starter.read_text()
REMARKED = f"import ctypes\n{HONEST}"
UNDECIDED = f"import os\nos._exit(os.EX_SOFTWARE)\n{HONEST}"  # as where the judge's own code fails
GRADED = checks.STEPS


INITDB = shutil.which("initdb") or next(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), "")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A folder with the judge's verdicts on scripts, for tests of what becomes of verdicts."""
    store = verdicts.Store(tmp_path_factory.mktemp("known") / "verdicts")
    for script in (HONEST, STARTER, REMARKED):
        verdicts.of(script.encode(), STEP, store)
    return store.folder


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The folder of a class that has its assignment."""
    folder = tmp_path_factory.mktemp("released")
    School(folder).release(STEP)
    return folder


@pytest.fixture
def school(tmp_path, released):
    """A class of the test's own that has its assignment."""
    school = School(tmp_path)
    shutil.copytree(released, tmp_path, dirs_exist_ok=True)
    return school


@pytest.fixture
def judged(school, known):
    """A class whose scripts have been judged already."""
    shutil.copytree(known, school.course / "verdicts")
    return school


@pytest.fixture
def postgres():
    """The URL of a database in a PostgreSQL server of the test's own."""
    programs, who = Path(INITDB).resolve().parent, []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if os.getuid() == 0:  # the server does not run as root
            shutil.chown(folder, "nobody", "nogroup")
            who = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder}"
        control = [*who, programs / "pg_ctl", "-w", "-D", f"{folder}/data", "-l", f"{folder}/log"]
        make = [*who, programs / "initdb", "-D", f"{folder}/data", "-U", "instructor", "-A", "trust", "-E", "UTF8"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder)
        subprocess.run([*control, "-o", options, "start"], check=True, stdout=subprocess.DEVNULL, cwd=folder)
        try:
            yield f"postgresql+psycopg://instructor@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd=folder)


@pytest.mark.parametrize("step", GRADED, ids=lambda step: step.name)
def test_a_lesson_is_released_with_a_graded_cell_per_check_and_without_answers(step):
    lesson = release.lesson(step)
    named = [cell.metadata.nbgrader for cell in lesson.cells if "nbgrader" in cell.metadata]
    points = {cell["grade_id"]: cell["points"] for cell in named if not cell["solution"]}
    assert points == {release.grade_id(check): check.points for check in checks.of(step.number).up_to(step.number)}
    assert [cell["grade_id"] for cell in named if cell["solution"]] == ["in-your-own-words"]
    assert not any("exercise.solution" in cell.source or "A model answer" in cell.source for cell in lesson.cells)


@pytest.mark.slow
def test_what_an_instructor_tried_out_is_not_released(tmp_path):
    school = School(tmp_path)
    lesson = school.course / "notebooks" / STEP.name
    (lesson / STEP.script).write_text(HONEST)
    (lesson / "fashion_mnist.backup_1.py").write_text(HONEST)
    (lesson / "another.ipynb").write_text((lesson / f"{STEP.name}.ipynb").read_text())
    (lesson / "logs").mkdir()
    (lesson / "logs" / "events").write_text(HONEST)
    school.release(STEP)
    for folder in (school.course / "release", school.exchange / "distributed-training" / "outbound"):
        assert {path.name for path in (folder / STEP.name).iterdir()} == {f"{STEP.name}.ipynb", STEP.script}
        assert (folder / STEP.name / STEP.script).read_text() == STARTER


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["postgres" if INITDB else "sqlite"])
def test_a_class_from_release_to_released_feedback(engine, known, tmp_path, request):
    school = School(tmp_path, request.getfixturevalue("postgres") if engine == "postgres" else None)
    shutil.copytree(known, school.course / "verdicts")
    school.release(STEP)
    desk = tmp_path / "bob"
    desk.mkdir()
    school.run("fetch_assignment", STEP.name, cwd=desk)
    assert (desk / STEP.name / STEP.script).read_text() == STARTER
    answer(desk / STEP.name / f"{STEP.name}.ipynb", "Because *so*.")
    school.run("submit", STEP.name, "--student", "bob", cwd=desk)
    for student, script in {"alice": HONEST, "carol": UNDECIDED, "dave": REMARKED}.items():
        school.hand_in(student, STEP, script)
    school.run("collect", STEP.name)
    done = school.grade(STEP, "--csv", "moodle")
    assert done.returncode == 0, done.stderr
    assert "What 4 learners get wrong" in done.stdout and "1 of 4 have remarks" in done.stdout
    assert checks.of(STEP.number).of(STEP.number)[0].description in done.stdout
    assert school.points("alice", STEP) == (10, False)
    assert school.points("bob", STEP) == (0, True), "the answer waits for a person"
    assert school.points("carol", STEP) == (0, True)
    assert school.points("dave", STEP) == (10, False), "a remark changes no points"
    graded = school.gradebook()
    assert all(graded["carol", f"{STEP.name}/{cell}"] == (0, True) for cell in CELLS)
    school.run("release_feedback", STEP.name)
    school.run("fetch_feedback", STEP.name, cwd=desk)
    (page,) = (desk / STEP.name / "feedback").rglob("*.html")
    assert "never initialises Horovod" in page.read_text() and "<svg" in page.read_text()
    assert "Because *so*." in page.read_text()
    school.run("export", f"--CsvExportPlugin.to={tmp_path}/grades.csv")
    rows = (tmp_path / "grades.csv").read_text().splitlines()
    assert rows == (school.course / "grades.csv").read_text().splitlines()
    scores = {row["student_id"]: row["score"] for row in csv.DictReader(rows) if row["assignment"] == STEP.name}
    assert scores == {"alice": "10.0", "bob": "0.0", "carol": "0.0", "dave": "10.0"}
    header, *rows = csv.reader((school.course / f"grades-{STEP.name}-moodle.csv").read_text().splitlines())
    assert header == ["First name", "Last name", "Username", STEP.name]
    assert {row[2]: row[3] for row in rows} == {"alice": "10", "bob": "-", "carol": "-", "dave": "10"}
    assert "bob, carol" in done.stdout, "a person has to grade them first"
    school.run("export", "--exporter=grader.classroom.platforms.Canvas", f"--to={tmp_path}/canvas.csv")
    marks = {row["SIS Login ID"]: row[STEP.name] for row in csv.DictReader((tmp_path / "canvas.csv").open())}
    assert marks == {"": "12", "alice": "10", "bob": "", "carol": "", "dave": "10"}


def answer(path: Path, text: str) -> None:
    """Write an answer into a notebook."""
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution")).source = text
    nbformat.write(notebook, path)


@pytest.mark.slow
def test_no_old_score_stays_and_no_decision_of_a_person_is_lost(judged):
    judged.submit("alice", STEP, HONEST)
    judged.submit("bob", STEP, HONEST)
    assert judged.grade(STEP).returncode == 0
    assert judged.points("alice", STEP) == (10, False)
    with Gradebook(judged.db) as gradebook:
        grade = gradebook.find_grade("in-your-own-words", STEP.name, STEP.name, "bob")
        grade.manual_score, grade.needs_manual_grade = 2, False
        gradebook.db.commit()
    (judged.course / "submitted" / "alice" / STEP.name / STEP.script).write_text(UNDECIDED)
    assert judged.grade(STEP).returncode == 0
    assert judged.points("alice", STEP) == (0, True)
    assert judged.points("bob", STEP) == (12, False), "nothing new came from bob, so nothing is asked again"
    (judged.course / "submitted" / "alice" / STEP.name / STEP.script).unlink()
    assert judged.grade(STEP, "--student", "alice").returncode == 0
    assert judged.points("alice", STEP) == (0, True)


@pytest.mark.slow
def test_an_assignment_that_was_never_made_is_named(tmp_path):
    school = School(tmp_path)
    (school.course / "submitted" / "alice" / STEP.name).mkdir(parents=True)
    done = school.grade(STEP)
    assert done.returncode == 1 and "nbgrader generate_assignment step_01" in done.stderr


@pytest.mark.slow
def test_nbgrader_s_own_autograde_judges_too(school):
    school.submit("alice", STEP, HONEST)
    school.run("autograde", STEP.name)
    assert school.points("alice", STEP) == (10, False)


@pytest.mark.slow
def test_whoever_is_killed_goes_on_where_it_ended(judged, leftovers):
    students = [f"learner-{number:02d}" for number in range(8)]
    for number, student in enumerate(students):
        judged.submit(student, STEP, (HONEST, STARTER)[number % 2])
    record = judged.course / "verdicts" / f"graded-{STEP.name}.json"
    for number in range(3):
        process = subprocess.Popen(
            judged.grading(STEP),
            cwd=ROOT,
            env=judged.environment,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and (not record.exists() or len(json.loads(record.read_text())) < 2 * number + 1):
            time.sleep(0.01)  # the class needs the cores
        process.kill()
        assert process.wait(60) != 0
    assert 0 < len(json.loads(record.read_text())) < len(students), "it was stopped on its way"
    assert judged.grade(STEP).returncode == 0
    expected = {(student, "step_01/in-your-own-words"): (0, False) for student in students}
    for number, student in enumerate(students):
        cells = {(student, f"{STEP.name}/{cell}"): ((points, 0)[number % 2], False) for cell, points in CELLS.items()}
        expected |= cells
    assert judged.gradebook() == expected
    assert leftovers() == []


@pytest.mark.slow
def test_no_submission_is_left_by_a_grader_that_was_killed_while_judging(leftovers, school):
    temporary = Path(os.environ["TMPDIR"])
    school.submit("alice", STEP, HONEST)
    grading = subprocess.Popen(school.grading(STEP), cwd=ROOT, env=school.environment, stderr=subprocess.DEVNULL)
    while not list(temporary.rglob(STEP.script)):
        assert grading.poll() is None
        time.sleep(0.01)
    running = psutil.Process(grading.pid).children(recursive=True)
    grading.kill()
    assert grading.wait(60) == -signal.SIGKILL
    psutil.wait_procs(running, timeout=60)
    assert leftovers() == [] and not list(temporary.rglob(STEP.script))


@pytest.mark.slow
def test_whoever_is_interrupted_while_judging_keeps_the_verdicts_and_is_told_so(school, leftovers):
    students = ["alice", "bob"]
    for student in students:
        school.submit(student, STEP, f"{HONEST}\n# {student}\n")
    store = school.course / "verdicts"
    process = subprocess.Popen(
        school.grading(STEP, "--jobs", "1"),
        cwd=ROOT,
        env=school.environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_interrupts,
    )
    while process.poll() is None and not list(store.glob("*.json")):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "the same command continues from here" in said and "Traceback" not in said
    kept = {path: path.stat().st_mtime_ns for path in store.glob("*.json")}
    assert 0 < len(kept) < len(students)
    assert school.grade(STEP).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "nothing was judged twice"
    assert [school.points(student, STEP)[0] for student in students] == [10, 10]
    assert leftovers() == []


@pytest.mark.slow
def test_a_cluster_judges_what_one_machine_would(school, leftovers, tmp_path):
    school.submit("alice", STEP, HONEST)
    school.submit("bob", STEP, STARTER)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    common = {"cwd": tmp_path, "env": school.environment | {"PYTHONPATH": str(ROOT)}, "stderr": subprocess.DEVNULL}
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    processes = [subprocess.Popen([*scheduler, "--no-dashboard"], **common)]
    processes += [subprocess.Popen([*worker, "--host", "127.0.0.1"], **common) for _ in range(2)]
    try:
        done = school.grade(STEP, "--scheduler", address)
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGINT)
            process.wait(60)
    assert done.returncode == 0, done.stderr
    assert (school.points("alice", STEP)[0], school.points("bob", STEP)[0]) == (10, 0)
    assert leftovers() == []


def test_a_verdict_is_kept_for_its_owner_alone_and_only_whole(tmp_path):
    store = verdicts.Store(tmp_path / "verdicts")
    assert (tmp_path / "verdicts").stat().st_mode & 0o777 == 0o700
    store.put("none", verdicts.none(STEP))
    assert store.get("none") is None, "not_graded is no verdict"
    for forged in ("", "{}", '{"report": {"status": "passed", "score": 1000}, "figure": ""}', "[1"):
        (tmp_path / "verdicts" / "forged.json").write_text(forged)
        assert store.get("forged") is None


def test_a_verdict_is_of_one_script_step_and_judge(monkeypatch):
    first = verdicts.key(HONEST.encode(), STEP)
    assert first == verdicts.key(HONEST.encode(), STEP)
    assert first != verdicts.key(STARTER.encode(), STEP) and first != verdicts.key(HONEST.encode(), get(2))
    monkeypatch.setattr(expectations, "CODE", f"{expectations.CODE}, another version")
    assert first != verdicts.key(HONEST.encode(), STEP)


def test_nothing_is_graded_without_a_sandbox(monkeypatch):
    monkeypatch.setattr(policy, "available", lambda: "no user namespaces")
    done = CliRunner().invoke(grade.main, ["1"])
    assert done.exit_code == 1 and "No sandbox can be made here (no user namespaces)" in done.output


@pytest.mark.parametrize("step", ["0", "7", "99"])
def test_a_step_without_a_check_is_refused(step):
    done = CliRunner().invoke(grade.main, [step])
    assert done.exit_code == 2 and "Error" in done.output


@pytest.mark.parametrize("text", ["plain", "~~~\n<b>", "~~~~~~~~\n</pre><script>", ""])
def test_an_answer_is_shown_as_it_was_written(text):
    from nbconvert.filters import markdown2html

    shown = markdown2html(autograde.as_text(text))
    assert "<script" not in shown and "<b>" not in shown
