"""Folders in the exchange that are not what a submission is. Each function changes an honest one."""

import json
import os
import shutil
import socket
from pathlib import Path

from tests.attacks import STEP, Aim, Attacks

FOLDERS = Attacks()
NOTEBOOK = f"{STEP.name}.ipynb"


def instead(path: Path) -> Path:
    """Remove what is at a path, if anything is, and return it."""
    path.unlink(missing_ok=True)
    return path


@FOLDERS.of("a person")
def script_is_a_link(folder: Path, aim: Aim):
    """The gradebook is not used as a script."""
    instead(folder / STEP.script).symlink_to(aim.course / "gradebook.db")


@FOLDERS.of("a person")
def script_is_a_link_to_another_s(folder: Path, aim: Aim):
    """A script that another student handed in earns no points."""
    instead(folder / STEP.script).symlink_to(aim.course / "submitted" / "alice" / STEP.name / STEP.script)


@FOLDERS.of("a person")
def script_is_a_hard_link(folder: Path, aim: Aim):
    """Nor for one that has another name elsewhere."""
    secret = folder.parents[1] / f"{folder.parent.name}.secret"
    secret.write_text((folder / STEP.script).read_text())
    os.link(secret, folder / "again")
    (folder / "again").replace(folder / STEP.script)


@FOLDERS.of("judged")
def notebook_is_a_link(folder: Path, aim: Aim):
    """The file is not read, and the script is judged nevertheless."""
    instead(folder / NOTEBOOK).symlink_to(aim.home / "secret.txt")


@FOLDERS.of("judged")
def notebook_is_a_pipe(folder: Path, aim: Aim):
    """Nothing waits for data from it."""
    os.mkfifo(instead(folder / NOTEBOOK))


@FOLDERS.of("a person")
def script_is_a_pipe(folder: Path, aim: Aim):
    """Nothing waits for data from it."""
    os.mkfifo(instead(folder / STEP.script))


@FOLDERS.of("judged")
def notebook_is_a_socket(folder: Path, aim: Aim):
    """It is left out."""
    here = os.open(folder, os.O_RDONLY)
    try:
        instead(folder / NOTEBOOK)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{here}/{NOTEBOOK}")
    finally:
        os.close(here)


@FOLDERS.of("judged")
def notebook_is_a_folder(folder: Path, aim: Aim):
    """It is left out."""
    instead(folder / NOTEBOOK).mkdir()


@FOLDERS.of("judged")
def time_stamp_is_a_pipe(folder: Path, aim: Aim):
    """The folder's time is taken."""
    os.mkfifo(instead(folder / "timestamp.txt"))


@FOLDERS.of("judged")
def time_stamp_is_nonsense(folder: Path, aim: Aim):
    """nbgrader would end, for the whole class."""
    (folder / "timestamp.txt").write_text("yesterday, I swear")


@FOLDERS.of("judged")
def secret_is_a_path(folder: Path, aim: Aim):
    """The name of a feedback file is made of it."""
    (folder / "submission_secret.txt").write_text("../../../../etc")


@FOLDERS.of("judged")
def links_beside(folder: Path, aim: Aim):
    """They are left out, with where they lead."""
    (folder / "gradebook.db").symlink_to(aim.course / "gradebook.db")
    (folder / "home").symlink_to(aim.home)


@FOLDERS.of("judged")
def a_loop_of_links(folder: Path, aim: Aim):
    """Nothing follows it in circles."""
    (folder / "self").symlink_to(folder)


@FOLDERS.of("judged")
def deep(folder: Path, aim: Aim):
    """Nothing descends into it."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)


@FOLDERS.of("judged")
def many_files(folder: Path, aim: Aim):
    """They are left out."""
    for number in range(3000):
        (folder / f"{number}.txt").touch()


@FOLDERS.of("judged")
def huge_notebook(folder: Path, aim: Aim):
    """It is not read."""
    os.truncate(folder / NOTEBOOK, 2**40)


@FOLDERS.of("a person")
def huge_script(folder: Path, aim: Aim):
    """It is not read."""
    os.truncate(folder / STEP.script, 2**40)


@FOLDERS.of("judged")
def planted_modules(folder: Path, aim: Aim):
    """They are left out, so nothing imports them."""
    for name in ("sitecustomize", "nbgrader", "grader", "course", "json", "nbformat"):
        (folder / f"{name}.py").write_text(f"open('{aim.outside}/planted', 'w')")


@FOLDERS.of("judged")
def planted_configuration(folder: Path, aim: Aim):
    """It is left out, so nothing reads it."""
    for name in ("nbgrader_config.py", "jupyter_server_config.py"):
        (folder / name).write_text(f"open('{aim.outside}/planted', 'w')")


@FOLDERS.of("judged")
def planted_kernel(folder: Path, aim: Aim):
    """It is left out, so nothing starts it."""
    kernel = folder / "kernels" / "python3"
    kernel.mkdir(parents=True)
    program = ["touch", str(aim.outside / "planted")]
    (kernel / "kernel.json").write_text(json.dumps({"argv": program, "display_name": "Python 3"}))


@FOLDERS.of("judged")
def planted_grades(folder: Path, aim: Aim):
    """A gradebook and verdicts of one's own are left out."""
    (folder / "gradebook.db").write_text("all mine")
    (folder / "verdicts").mkdir()
    (folder / "verdicts" / "graded-step_01.json").write_text("{}")


@FOLDERS.of("judged")
def names_that_steer_a_terminal(folder: Path, aim: Aim):
    """They are shown in letters."""
    (folder / "\x1b[2J\nalice: passed\udcff").touch()


@FOLDERS.of("a person")
def wrong_name(folder: Path, aim: Aim):
    """Which file is meant is not guessed."""
    (folder / STEP.script).rename(folder / "fashion_mnist (1).py")


@FOLDERS.of("not taken")
def folder_is_a_link(folder: Path, aim: Aim):
    """A file of another user's is not taken."""
    shutil.rmtree(folder)
    folder.symlink_to(next(folder.parent.glob("alice+*")))


@FOLDERS.of("judged")
def two_at_once(folder: Path, aim: Aim):
    """The latest counts, also where another one has the same time."""
    for day, more in (("20", "0"), ("21", "1")):
        other = folder.with_name(folder.name.replace("-21 ", f"-{day} ") + more)
        shutil.copytree(folder, other)
        (other / "timestamp.txt").write_text(f"2026-11-{day} 09:00:00.000000 UTC")
        if day == "20":
            (other / STEP.script).write_text("raise SystemExit('LEAK')\n")


@FOLDERS.of("not taken")
def named_like_a_formula(folder: Path, aim: Aim):
    """A spreadsheet that reads the grades computes nothing: a learner's name begins with a letter or a digit."""
    folder.rename(folder.with_name("=1+" + folder.name.partition("+")[2]))
