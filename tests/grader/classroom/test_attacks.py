"""What learners hand in reaches, changes and stops nothing, and those next to them are graded right."""

import contextlib
import copy
import csv
import hashlib
import json
import os
import socket
import subprocess
import threading

import pytest

from course.steps import ROOT
from tests.attacks import HONEST, STEP, Aim
from tests.attacks.archives import ARCHIVES
from tests.attacks.folders import FOLDERS
from tests.attacks.notebooks import NOTEBOOKS
from tests.attacks.scripts import BEFORE, REACHES, SCRIPTS
from tests.school import School

pytestmark = pytest.mark.slow

ATTACKS = [*FOLDERS, *NOTEBOOKS, *ARCHIVES, *SCRIPTS]
LEARNERS = {"alice": 10, "bob": 0, "zoe": 10}  # the honest ones, and their points


def fits(outcome, points):
    """Whether an attacker's points, and whether a person has to look at them, are what the attack was to have."""
    if points is None or outcome == "not taken":
        return points is None and outcome == "not taken"
    score, undecided = points
    return score == 10 if outcome == "judged" else score == 0 and (undecided or outcome == "no points")


def contents(folder):
    """Return a digest of each file of the project's that attackers aim at."""
    tracked = subprocess.check_output(["git", "ls-files", "grader", "solutions", "notebooks"], cwd=folder, text=True)
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in tracked.splitlines()}


@pytest.fixture(autouse=True)
def removed(tmp_path):
    """Remove what the test made: pytest cannot go as deep as one of the attacks does."""
    yield
    subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


@pytest.fixture
def listener():
    """The port of a server, and the connections that were made to it."""
    made = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen():
            with contextlib.suppress(OSError):
                while True:
                    made.append(server.accept()[0])

        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1], made
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def attacked(tmp_path, listener, leftovers):
    """A class in which everybody attacks but a few, graded."""
    school = School(tmp_path)
    aim = Aim(school.course, school.home, listener[0], tmp_path / "outside")
    aim.outside.mkdir()
    (aim.home / "secret.txt").write_text("CANARY")
    school.release(STEP)
    school.hand_in("alice", STEP, HONEST + "# CANARY\n")
    school.hand_in("bob", STEP, STEP.starter.read_text())
    for attack in FOLDERS:
        attack.hand_in(school.hand_in(attack.name, STEP, HONEST), aim)
    for attack in NOTEBOOKS:
        notebook = json.loads(school.lesson(STEP))
        text = attack.hand_in(notebook, aim) or json.dumps(notebook)
        (school.hand_in(attack.name, STEP, HONEST) / f"{STEP.name}.ipynb").write_text(text)
    for attack in SCRIPTS:
        school.hand_in(attack.name, STEP, BEFORE + attack.hand_in(aim) + HONEST)
    downloads = school.course / "downloaded" / STEP.name / "archive"
    downloads.mkdir(parents=True)
    for attack in ARCHIVES:
        attack.hand_in(downloads / f"{attack.name}_attempt.zip", school.lesson(STEP), aim)
    (downloads / f"zoe_{STEP.script}").write_text(HONEST)
    (downloads / f"zoe_{STEP.name}.ipynb").write_text(school.lesson(STEP))
    before = contents(ROOT)
    said = school.run("collect", STEP.name) + school.run("zip_collect", STEP.name)
    done = school.grade(STEP)
    assert done.returncode == 0, done.stdout + done.stderr
    said += done.stdout + done.stderr
    assert contents(ROOT) == before
    yield school, aim, said, listener[1], leftovers()


def test_no_attack_succeeds_and_honest_work_beside_them_is_graded_right(attacked):
    school, aim, said, connections, left = attacked
    assert len(ATTACKS) + len(REACHES) > 40
    assert {student: school.points(student, STEP)[0] for student in LEARNERS} == LEARNERS
    points = {attack.name: school.points(attack.name, STEP) for attack in ATTACKS}
    astray = {attack.name: points[attack.name] for attack in ATTACKS if not fits(attack.outcome, points[attack.name])}
    assert astray == {}
    assert list(aim.outside.iterdir()) == [] and connections == [] and left == []
    assert not any("LEAK" in json.dumps(verdict) for verdict in school.verdicts())
    pages = "".join(page.read_text() for page in (school.course / "feedback").rglob("*.html"))
    assert "fetch(" in pages and "<script>fetch(" not in pages and 'href="javascript' not in pages
    assert "LEAK" not in pages and "\x1b" not in said
    cells = [cell for row in csv.reader((school.course / "grades.csv").open()) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]  # no formulas
    students = {student for student, _ in school.gradebook()}
    assert students <= {*LEARNERS, *(attack.name for attack in ATTACKS)}
    assert all(score <= 10 for score, _ in school.gradebook().values())


def test_somebody_else_s_name_is_not_taken(tmp_path):
    if os.getuid():
        pytest.skip("only root can be several users")
    school = School(tmp_path)
    school.release(STEP)
    school.hand_in("daemon", STEP, HONEST)
    theirs = school.hand_in("alice", STEP, HONEST)
    os.chown(theirs, 1, 1)  # daemon's
    said = school.run("collect", STEP.name)
    assert "since it is not alice who handed it in" in said
    assert not (school.course / "submitted" / "alice").exists()
    assert (school.course / "submitted" / "daemon").is_dir()


def test_a_submission_put_in_place_by_hand_is_looked_through_too(tmp_path):
    from grader.classroom import submission

    aim = Aim(tmp_path, tmp_path, 0, tmp_path)
    lesson = json.loads((ROOT / "notebooks" / STEP.name / f"{STEP.name}.ipynb").read_text())
    for attack in FOLDERS:
        if attack.outcome == "not taken":
            continue
        folder = tmp_path / "submitted" / attack.name / STEP.name
        folder.mkdir(parents=True)
        (folder / STEP.script).write_text(HONEST)
        (folder / f"{STEP.name}.ipynb").write_text(json.dumps(copy.deepcopy(lesson)))
        attack.hand_in(folder, aim)
        submission.clean(folder, STEP, tmp_path / "originals" / attack.name)
        assert submission.is_clean(folder, STEP), attack.name
        assert (folder / STEP.script).exists() == (attack.outcome == "judged"), attack.name
