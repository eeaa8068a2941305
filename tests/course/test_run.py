"""The headless runner: it distinguishes how a notebook ends, and leaves no process running."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys

import nbformat
import pytest
from rich.console import Console

from course import launch, run, steps
from course.steps import ROOT, STEPS
from grader import checks
from tests.checkout import Checkout
from tests.conftest import listen_to_interrupts

pytestmark = pytest.mark.slow


@pytest.fixture
def lesson(tmp_path):
    """Return a function that writes a notebook of these code cells, executes it, and gives the result and the log."""

    def execute(*cells: str, timeout: float = 120, **parameters) -> tuple[dict, str]:
        folder = tmp_path / "step_99"
        folder.mkdir()
        first, *rest = (nbformat.v4.new_code_cell(cell) for cell in cells)
        first.metadata["tags"] = ["parameters"]
        notebook = nbformat.v4.new_notebook(cells=[first, *rest])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(notebook, folder / "step_99.ipynb")
        (folder / "attachment.txt").write_text("a file of the lesson")
        log = io.StringIO()
        display = run.Display(Console(file=log, width=200))
        out = tmp_path / "out"
        out.mkdir()
        return run.execute(folder / "step_99.ipynb", out, "A test", parameters, display, timeout), log.getvalue()

    return execute


def test_a_notebook_that_passes_is_written_with_its_page(lesson, tmp_path, leftovers):
    result, log = lesson("word = 'unset'", "print(open('attachment.txt').read(), word)", word="given")
    assert result["status"] == "passed" and result["error"] is None
    assert "a file of the lesson given" in log and "step_99  cell 3/3" in log
    assert "a file of the lesson given" in (tmp_path / "out" / "step_99.html").read_text()
    assert (tmp_path / "out" / "step_99.ipynb").is_file()
    assert leftovers() == []


def test_a_kernel_takes_no_port_that_another_process_could_take_first(lesson):
    result, log = lesson("import ipykernel", "print(ipykernel.get_connection_info())")
    assert result["status"] == "passed" and '"transport": "ipc"' in log


def test_an_error_is_reported_with_its_cell(lesson, tmp_path, leftovers):
    result, _ = lesson("1", "raise ValueError('no such thing')")
    assert result["status"] == "failed"
    assert result["error"].startswith("cell 2:") and "ValueError: no such thing" in result["error"]
    assert "no such thing" in (tmp_path / "out" / "step_99.html").read_text()
    assert leftovers() == []


def test_a_failed_rank_fails_the_notebook_with_its_last_lines(lesson, leftovers):
    code = "import os, sys, time; os.environ['OMPI_COMM_WORLD_RANK'] == '1' and sys.exit('no luck'); time.sleep(99)"
    result, _ = lesson(f"from course import launch\nlaunch.mpirun(['python', '-c', {code!r}], np=2)")
    assert result["status"] == "failed"
    assert "RunError: Rank 1 ended with exit status 1" in result["error"] and "[1] no luck" in result["error"]
    assert "launch.py" not in result["error"], "the launcher's own lines are no help to a learner"
    assert leftovers() == []


def test_a_notebook_that_runs_out_of_time_ends_with_its_ranks(lesson, leftovers):
    result, _ = lesson("from course import launch\nlaunch.mpirun(['sleep', '99'], np=2)", timeout=8)
    assert result["status"] == "timeout" and "8 s" in result["error"]
    assert leftovers() == []


def test_a_kernel_that_is_killed_is_named(lesson, leftovers):
    result, _ = lesson("import os\nos.kill(os.getpid(), 9)")
    assert result["status"] == "failed" and "kernel was killed" in result["error"]
    assert leftovers() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_runner_ends_with_all_it_started(tmp_path, leftovers, number):
    command = [sys.executable, "-m", "course", "run", "--steps", "2", "--out", tmp_path / "out"]
    runner = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=listen_to_interrupts
    )
    for line in runner.stdout:
        if b"$ mpirun" in line:
            break
    runner.send_signal(number)
    said = runner.communicate(timeout=60)[0].decode()
    assert runner.returncode != 0
    if number == signal.SIGINT:
        assert "Interrupted" in said and "Traceback" not in said
    assert leftovers() == []


# One that is a rank itself, and one that trains, for the time that lessons take. scripts/bench runs all of them.
LESSONS = [step for step in STEPS if step.number in (0, 6)]


@pytest.fixture(params=LESSONS, ids=lambda step: step.name)
def step(request):
    return request.param


def settings(folder):
    """Make a user's settings that are not for this course, and return the environment variables with them."""
    home, other, jupyter = folder / "home", folder / "other" / "course", folder / "jupyter" / "kernels" / "python3"
    temporary = folder / "scratch" / "job.12345678.frontend.cluster.example" / "first-name.last-name"
    for made in (home / ".keras", home / ".config" / "matplotlib", other, jupyter, temporary):
        made.mkdir(parents=True)
    (home / ".keras" / "keras.json").write_text('{"image_data_format": "channels_first"}')
    (home / ".config" / "matplotlib" / "matplotlibrc").write_text("text.usetex: True\n")
    (other / "__init__.py").write_text("raise ImportError('another package of this name')\n")
    kernel = {"argv": ["/nowhere/python", "-f", "{connection_file}"], "display_name": "Python 3", "language": "python"}
    (jupyter / "kernel.json").write_text(json.dumps(kernel))
    return {
        "HOME": str(home),
        "PYTHONPATH": str(other.parent),
        "JUPYTER_PATH": str(folder / "jupyter"),
        "TMPDIR": str(temporary),
        "CDPATH": f".:{ROOT}",
    }


def latin_1(folder):
    """Make a locale in which no text is UTF-8, if this machine can, and return the environment variables for it."""
    name = "de_DE.ISO-8859-1"
    command = ["localedef", "--force", "-i", "de_DE", "-f", "ISO-8859-1", folder / name]
    made = shutil.which("localedef") and subprocess.run(command, capture_output=True) and (folder / name).is_dir()
    return {"LOCPATH": str(folder), "LC_ALL": name} if made else {"LC_ALL": "C"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of a fresh checkout's script at once, from another directory; in the checkout's path is a space.

    Each is of one lesson, with settings of users that are not for this course; the second one has no HOME and another
    locale. The environment is that of the tests: to make another one would take minutes.
    """
    folder = tmp_path_factory.mktemp("ein Kurs für alle")
    checkout = Checkout(folder)
    for made in (".tools", ".venv"):
        (checkout.root / made).symlink_to(ROOT / made)
    of_users = os.environ | settings(folder)
    no_home = {name: value for name, value in of_users.items() if name != "HOME"} | latin_1(folder)
    started = []
    for lesson, variables in zip(LESSONS, (of_users, no_home), strict=True):
        command = [checkout.root / "scripts" / "run", "--out", lesson.name, "--steps", str(lesson.number)]
        with (folder / f"{lesson.name}.txt").open("w") as log:
            started.append(subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log))
    codes = [process.wait() for process in started]
    logs = [(folder / f"{lesson.name}.txt").read_text() for lesson in LESSONS]
    return codes, logs, folder, checkout.changed()


@pytest.fixture
def out(runs, step):
    """The folder with the outcome of a lesson."""
    return runs[2] / step.name


def test_two_runs_at_once_do_not_disturb_each_other(runs):
    codes, logs, _, changed = runs
    for code, log in zip(codes, logs, strict=True):
        assert code == 0, log[-5000:]
    assert changed == set()


def test_a_summary_says_what_was_run(out, step):
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["np"], summary["profile"]) == (2, "cpu")
    (notebook,) = summary["notebooks"]
    assert (notebook["step"], notebook["status"]) == (step.number, "passed")
    assert set(notebook) == {"name", "step", "status", "seconds", "error"}


def test_every_lesson_shows_figures_and_has_a_page(out, step):
    executed = nbformat.read(out / f"{step.name}.ipynb", as_version=4)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert (out / f"{step.name}.html").stat().st_size > 100_000


def test_a_rank_that_waits_in_vain_says_so_and_tensorflow_does_not_repeat_it(runs):
    page = (runs[2] / "step_06" / "step_06.html").read_text()
    assert "Horovod has been shut down" in page and "OP_REQUIRES" not in page


def test_every_check_in_a_lesson_passes_its_solution(out, step):
    if step.has_exercise:
        last = nbformat.read(out / f"{step.name}.ipynb", as_version=4).cells[-1]
        points = sum(check.points for check in checks.of(step.number).up_to(step.number))
        assert f"Passed: {points} of {points} points" in last.outputs[-1].data["text/html"]


@pytest.mark.slow
def test_every_rank_runs_the_notebook_of_step_7(tmp_path, monkeypatch):
    cells = {cell.id: cell.source for cell in nbformat.read(steps.get(7).notebook, as_version=4).cells}
    (tmp_path / "execute_spmd.py").write_text(cells["spmd-script"].partition("\n")[2])
    shutil.copy(steps.get(7).notebook.with_name("spmd.ipynb"), tmp_path)
    monkeypatch.chdir(tmp_path)
    launch.mpirun(["python", "execute_spmd.py"], np=2)
    for rank in (0, 1):
        text = (tmp_path / f"spmd_rank_{rank}.ipynb").read_text()
        assert f"This kernel is rank {rank} of 2." in text
        assert f"I gave {rank + 1}, and all ranks together gave 3." in text
