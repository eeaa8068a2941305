"""A class on JupyterHub: users log in, fetch, submit and are graded, within limits, and read no work of each other.

Needs what docs/hub.md installs: jupyterhub next to the course, and its proxy.
"""

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from course.steps import get

MISSING = (
    "root" * bool(os.geteuid())
    or "npm's configurable-http-proxy" * (not shutil.which("configurable-http-proxy"))
    or "jupyterhub in the course's environment" * (not importlib.util.find_spec("jupyterhub"))
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=f"needs {MISSING}: see docs/hub.md")]

ASSIGNMENT = {"course_id": "distributed-training", "assignment_id": "step_01"}
DESK = "assignments/step_01"
EXCHANGE = "/usr/local/share/nbgrader/exchange/distributed-training"

FILL_MEMORY = "python -c 'bytearray(8 * 2**30)'"
FORK = """python -c '
import subprocess
sleeping = []
try:
    while len(sleeping) < 5000: sleeping.append(subprocess.Popen(["sleep", "1000"]))
except BlockingIOError: print("refused:", len(sleeping))
input()
for each in sleeping: each.kill()
'"""


@pytest.fixture(scope="module")
def machine():
    """A machine with a hub, two learners, an instructor, and one who is neither."""
    from tests.hub import Machine

    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    users = {"alice": "learners", "bob": "learners", "teacher": "instructors", "mallory": "users"}
    yield Machine(folder, users)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def hub(machine):
    """The URL of the machine's hub."""
    with machine.hub() as url:
        yield url


@pytest.fixture(scope="module")
def browsers(hub):
    """The browsers of the class, each logged in, with a server."""
    from tests.hub import Browser

    opened = {user: Browser(hub, user) for user in ("teacher", "alice", "bob")}
    for browser in opened.values():
        assert browser.log_in()
        browser.start()
    return opened


def test_only_members_of_the_class_log_in(hub):
    from tests.hub import Browser

    assert not Browser(hub, "alice").log_in("another password")
    assert not Browser(hub, "mallory").log_in()


def test_learners_fetch_submit_and_are_graded(browsers):
    teacher, alice, bob = browsers["teacher"], browsers["alice"], browsers["bob"]
    for command in ("assign", "release"):
        assert teacher.post(f"formgrader/api/assignment/step_01/{command}").json()["success"]
    for learner, script in ((alice, get(1).solution), (bob, get(1).starter)):
        assert learner.post("assignments/fetch", **ASSIGNMENT).json()["success"]
        written = {"type": "file", "format": "text", "content": script.read_text()}
        assert learner.post(f"api/contents/{DESK}/fashion_mnist.py", "PUT", **written).ok
        assert learner.post("assignments/submit", **ASSIGNMENT).json()["success"]
    assert teacher.post("formgrader/api/assignment/step_01/collect").json()["success"]
    graded = teacher.run("scripts/grade 1 --jobs 1")
    assert "passed" in next(line for line in graded.splitlines() if "alice" in line)
    assert "failed" in next(line for line in graded.splitlines() if "bob" in line)
    points = {each["student"]: each["score"] for each in teacher.get("formgrader/api/submissions/step_01").json()}
    assert points == {"alice": 10, "bob": 0}

    assert teacher.post("formgrader/api/assignment/step_01/release_feedback").json()["success"]
    assert alice.post("assignments/fetch_feedback", **ASSIGNMENT).json()["success"]
    (when,) = alice.get(f"api/contents/{DESK}/feedback").json()["content"]
    page = alice.get(f"api/contents/{when['path']}/step_01.html").json()["content"]
    assert "Passed: 10 of 10 points" in page


def test_learners_cannot_read_the_work_of_others(browsers):
    alice, bob = browsers["alice"], browsers["bob"]
    assert alice.get("api/contents", bob.server).status_code == 403
    for folder in (f"{EXCHANGE}/inbound", "~bob/course", "~teacher/course"):
        assert "Permission denied" in alice.run(f"ls {folder}")
    assert "Permission denied" in alice.run('touch "$(git remote get-url origin)/course/steps.py"')


def test_a_learner_checks_a_script_in_the_sandbox(browsers):
    said = browsers["alice"].run("cd notebooks/step_01 && python -m grader check --step 1 fashion_mnist.py")
    assert "0 of 10 points" in said
    assert "without a sandbox" not in said


def test_a_learner_who_takes_too_much_is_stopped_and_others_work_on(browsers):
    alice, bob = browsers["alice"], browsers["bob"]
    assert "MemoryError" in alice.run(FILL_MEMORY)
    with alice.terminal() as terminal:
        terminal.type(FORK)
        terminal.wait_for(r"refused: \d+")
        assert bob.run("echo $USER").strip() == "bob"
        assert bob.get("api/status").ok
        terminal.type("")  # ends the processes
        terminal.run("true")


def test_a_server_that_starts_again_has_the_newest_lessons(machine, browsers):
    bob = browsers["bob"]
    lesson = machine.course / "notebooks" / "step_02" / "step_02.ipynb"
    lesson.write_text(lesson.read_text().replace("Let one rank speak", "Let rank 0 speak"))
    (machine.course / "uv.lock").open("a").write("# an environment that bob could not make\n")
    machine.publish("a new title")
    bob.stop()
    bob.start()
    assert "Let rank 0 speak" in bob.get("api/contents/notebooks/step_02/step_02.ipynb").text
    assert bob.get(f"api/contents/{DESK}/fashion_mnist.py").ok, "his work is still there"
