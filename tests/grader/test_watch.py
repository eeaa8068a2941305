"""The command that checks a file as it is saved, in a real terminal."""

import sys

import pexpect
import pytest

from course.steps import ROOT, get

pytestmark = pytest.mark.slow

RUNNING = "Your script is running"


@pytest.fixture
def watch(tmp_path):
    """Return a function that begins to watch a file in a terminal, which is closed after the test."""
    begun = []

    def begin(step, text):
        file = tmp_path / f"mine{get(step).solution.suffix}"  # of another name than a learner's own: nothing is kept
        file.write_text(text)
        command = ["-m", "course", "watch", "--step", str(step), str(file)]
        terminal = pexpect.spawn(sys.executable, command, cwd=str(ROOT), timeout=120, encoding="utf-8")
        begun.append(terminal)
        return terminal, file

    yield begin
    for terminal in begun:
        terminal.close(force=True)


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
