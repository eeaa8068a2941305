"""The line that shows a learner that something is being done."""

import contextlib
import io
import threading

import pytest

from course.internal import waiting


class Terminal(io.StringIO):
    """A terminal that says when a line was written to it."""

    def __init__(self):
        super().__init__()
        self.shown = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        if "…" in text:
            self.shown.set()
        return super().write(text)

    def screen(self):
        """Return what is left to see."""
        lines = []
        for line in self.getvalue().split("\n"):
            left = ""
            for part in line.split("\r"):
                left = part + left[len(part) :]
            lines.append(left.rstrip())
        return "\n".join(lines)


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(waiting, "PULSE", 0.01)
    monkeypatch.setattr(waiting, "PATIENCE", 0.02)
    for name in waiting.HEADLESS:
        monkeypatch.delenv(name, raising=False)
    return Terminal()


def test_a_silent_while_is_shown_and_nothing_of_it_is_left(terminal):
    with contextlib.redirect_stdout(terminal), waiting.Waiting("2 ranks are running") as wait:
        assert terminal.shown.wait(60)
        assert "… 2 ranks are running: 0 s" in terminal.screen()
        wait.interrupt()
        print("[0] hello")
    assert terminal.screen() == "[0] hello\n"


def test_a_shorter_text_takes_the_whole_line(terminal):
    with contextlib.redirect_stdout(terminal), waiting.Waiting("the first of several long things is done") as wait:
        assert terminal.shown.wait(60)
        with wait.lock:
            wait.what = "another"
            terminal.shown.clear()
        assert terminal.shown.wait(60)
        with wait.lock:
            assert terminal.screen().startswith("… another: ") and "long" not in terminal.screen()


@pytest.mark.parametrize("variable", waiting.HEADLESS)
def test_no_one_looks_at_a_headless_run(terminal, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    began = threading.active_count()
    with contextlib.redirect_stdout(terminal), waiting.Waiting("2 ranks are running"):
        assert threading.active_count() == began
    assert terminal.getvalue() == ""
