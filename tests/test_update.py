"""Bring a checkout up to date in which somebody has worked: git pull, and scripts/update where files were edited."""

import shutil
import subprocess

import nbformat
import pytest

from course.internal import saving
from course.steps import ROOT

pytestmark = pytest.mark.slow

# Enough of the course for an update. The filter takes a moment for each notebook.
FILES = "scripts", "uv.lock", ".gitattributes", ".gitignore", *(f"notebooks/step_0{number}" for number in (3, 4, 5))


def git(folder, *arguments):
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True)


def notebook(folder, number):
    return folder / "notebooks" / f"step_{number:02}" / f"step_{number:02}.ipynb"


def execute(path, answer=""):
    """Do to a notebook what JupyterLab does that runs it, and change its first code cell if there is an answer."""
    lesson = nbformat.read(path, 4)
    lesson.metadata.language_info |= {"version": "3.11.2", "codemirror_mode": {"name": "ipython", "version": 3}}
    for number, cell in enumerate((cell for cell in lesson.cells if cell.cell_type == "code"), 1):
        cell.execution_count = number
        cell.outputs = [nbformat.v4.new_output("stream", text="Epoch 1/2\n")]
        cell.metadata["execution"] = {"iopub.status.idle": "2026-01-01T00:00:00"}
        if answer and number == 2:
            cell.source += answer
    nbformat.write(lesson, path)


@pytest.fixture
def published(tmp_path):
    """A repository of the course, the learner's clone of it, and a new version of steps 3 and 4 in the former."""
    course = tmp_path / "course"
    for name in git(ROOT, "ls-files", "-co", "--exclude-standard", *FILES).stdout.splitlines():
        (course / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, course / name)
    git(course, "init", "--initial-branch=main")
    git(course, "add", "--all")
    assert git(course, "commit", "--message=the course").returncode == 0
    learner = tmp_path / "learner"
    assert git(tmp_path, "clone", str(course), str(learner)).returncode == 0
    (learner / ".venv").symlink_to(ROOT / ".venv")
    (learner / ".git" / "info" / "exclude").write_text(".venv\n")
    subprocess.run(["scripts/setup"], cwd=learner, check=True)
    for number in (3, 4):
        text = notebook(course, number).read_text()
        notebook(course, number).write_text(text.replace("What you will learn", "What is new", 1))
    git(course, "commit", "--all", "--message=newer lessons")
    return learner


def test_lessons_that_were_run_are_no_changes_and_are_updated(published):
    for number in (3, 4, 5):
        execute(notebook(published, number))
        subprocess.run(["sh", "-c", saving.NOTE, "sh", notebook(published, number)], cwd=published, check=True)
    assert git(published, "status", "--porcelain").stdout == ""
    pulled = git(published, "pull")
    assert pulled.returncode == 0, pulled.stderr
    assert "What is new" in notebook(published, 3).read_text()


def test_what_was_edited_is_kept_where_the_update_changes_it_and_stays_elsewhere(published):
    execute(notebook(published, 3))
    execute(notebook(published, 4), answer="\n# my own idea")
    execute(notebook(published, 5), answer="\n# another one")
    script = notebook(published, 4).with_name("fashion_mnist.py")
    shutil.copy(ROOT / "solutions" / "fashion_mnist_after_step_04.py", script)
    assert git(published, "pull").returncode != 0
    for _ in range(2):  # the second time, there is nothing to do
        done = subprocess.run(["scripts/update"], cwd=published, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    kept = published / "kept" / "notebooks"
    assert [path.name for path in kept.rglob("*.ipynb")] == ["step_04.ipynb"]
    assert "# my own idea" in notebook(kept.parent, 4).read_text()
    assert "What is new" in notebook(published, 4).read_text() and "What is new" in notebook(published, 3).read_text()
    assert "# another one" in notebook(published, 5).read_text() and script.is_file()
    assert git(published, "status", "--porcelain").stdout.split() == ["M", "notebooks/step_05/step_05.ipynb"]


def test_a_checkout_with_commits_of_its_own_is_left_as_it_is(published):
    execute(notebook(published, 4), answer="\n# my own idea")
    git(published, "commit", "--all", "--message=mine")
    done = subprocess.run(["scripts/update"], cwd=published, capture_output=True, text=True)
    assert done.returncode == 1 and "commits of its own" in done.stderr
    assert "# my own idea" in notebook(published, 4).read_text()
