"""The command that checks a file as it is saved, in a real terminal."""

import sys

import pexpect
import pytest

from course.hosts.cluster import forbidden
from course.hunt import cases
from course.steps import ROOT, get

pytestmark = pytest.mark.slow

RUNNING = "Your script is running"

HUNT = """
import sys
from pathlib import Path
from course import steps
steps.NOTEBOOKS = Path(sys.argv[1])  # a learner's own files stay as they are
from grader.hunt.commands import hunt
hunt(["watch", sys.argv[2]])
"""


@pytest.fixture
def spawned():
    """Return a function that starts Python in a terminal, which is closed after the test."""
    begun = []

    def spawn(*command):
        begun.append(pexpect.spawn(sys.executable, list(command), cwd=str(ROOT), timeout=120, encoding="utf-8"))
        return begun[-1]

    yield spawn
    for terminal in begun:
        terminal.close(force=True)


@pytest.fixture
def watch(spawned, tmp_path):
    """Return a function that begins to watch a file in a terminal."""

    def begin(step, text):
        file = tmp_path / f"mine{get(step).solution.suffix}"  # of another name than a learner's own: nothing is kept
        file.write_text(text)
        return spawned("-m", "course", "watch", "--step", str(step), str(file)), file

    return begin


def end(terminal):
    """Press Ctrl-C, and return the exit status."""
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert "Traceback" not in terminal.before
    return terminal.exitstatus


def test_a_file_is_checked_whenever_it_is_saved_in_whatever_way(watch):
    right, starter = get(23).solution.read_text(), get(23).starter.read_text()
    terminal, file = watch(23, starter)
    terminal.expect("0 of 10 points")
    file.write_text(right)
    terminal.expect("10 of 10 points")
    file.write_text("seed: 1")
    terminal.expect("not valid TOML")
    other = file.with_name("other")
    other.write_text(right)
    other.rename(file)  # as many editors save
    terminal.expect("10 of 10 points")
    file.unlink()
    file.write_text(starter)
    terminal.expect("0 of 10 points")
    assert end(terminal) == 0


def test_a_check_gives_way_to_a_newer_version_and_to_ctrl_c(watch, leftovers):
    right, starter = get(2).solution.read_text(), get(2).starter.read_text()
    terminal, file = watch(2, starter)
    terminal.expect(RUNNING)
    file.write_text(right)  # while the older one is checked
    shown = terminal.expect(["Passed", "Not yet"])
    assert shown == 0, "the report on the older version was shown"
    file.write_text("def main(:\n")
    terminal.expect("Not yet")
    file.write_text(starter)
    terminal.expect(RUNNING)
    assert end(terminal) == 0
    assert leftovers() == []


def test_a_step_without_an_exercise_is_refused(watch):
    terminal, _ = watch(7, "")
    terminal.expect("Step 7 has no exercise")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 2


@pytest.mark.skipif(forbidden() is not None, reason="no hosts can be made here")
def test_a_hunt_is_checked_whenever_the_diagnosis_or_the_program_is_saved(spawned, tmp_path):
    (case,) = (case for case in cases.cases().values() if case.name == "40_four_times_rank_0")
    terminal = spawned("-c", HUNT, str(tmp_path), str(case.number))
    terminal.expect("Not solved yet: 0 of 10 points")
    folder = tmp_path / "hunt" / case.name
    (folder / case.script).write_text(case.works)
    terminal.expect("Not solved yet: 5 of 10 points")
    who, line, cause = case.diagnosis.who[0], min(case.lines), case.diagnosis.cause
    (folder / cases.DIAGNOSIS).write_text(f'who = "{who}"\nline = {line}\ncause = "{cause}"\n')
    terminal.expect("Solved: 10 of 10 points")
    assert end(terminal) == 0
