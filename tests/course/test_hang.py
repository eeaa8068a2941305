"""Jobs that hang: what their ranks printed is read, their stacks are taken, and the lesson shows what it says."""

import re
import signal
import subprocess
from pathlib import Path

import nbformat
import pytest
from rich.console import Console

from course import hang, run
from course.steps import get

SAID = """
[0] Missing ranks:
[0] 1: [accuracy]
[1] Thread 0x00007fad4d036c40 (most recent call first):
[1]   File "/somewhere/tensorflow/execute.py", line 53 in quick_execute
[1]   File "/here/job.py", line 7 in average
[0]   File "/here/job.py", line 12 in <module>
[1]   File "/here/job.py", line 9 in <module>
[0] Missing ranks:
[0] 0: [gradients]
[1] a line of another rank, in between
[0] 1!: [accuracy]
[0] One or more rank (marked by "!") is stalled for longer than 12 seconds. Will shutdown.
[1]   File "/here/job.py", line 9, in <module>
""".strip().splitlines()

DUMP = """Process 18439: python -m course.record /tmp/course-run job.py
Python v3.11.2 (/usr/bin/python3.11)

Thread 18450 (idle): "Thread-1"
    wait (threading.py:320)
Thread 18439 (idle): "MainThread"
    average (job.py:7)
    \x1b[32m<module>\x1b[0m (\x1b[36mjob.py\x1b[0m:\x1b[2m9\x1b[0m)
    _run_code (<frozen runpy>:88)
    <module> (course/record/__main__.py:96)
"""


def test_the_last_warning_is_read_with_a_line_per_rank():
    found = hang.Hang(Path("job.py"), said=SAID)
    assert found.warning() == ["[0] Missing ranks:", "[0] 0: [gradients]", "[0] 1!: [accuracy]"]
    assert hang.Hang(Path("job.py"), said=["[0] done"]).warning() == []


def test_of_tracebacks_the_program_s_own_lines_are_shown():
    found = hang.Hang(Path("job.py"), said=SAID)
    assert found.tracebacks() == [
        "rank 0: job.py, line 12 in <module>",
        "rank 1: job.py, line 7 in average",
        "rank 1: job.py, line 9 in <module>",
    ]


def answer(monkeypatch, *result):
    """Have py-spy answer with this status, output and error, and return the signals that are sent."""
    sent = []
    done = subprocess.CompletedProcess([], *result)
    monkeypatch.setattr(hang.subprocess, "run", lambda *arguments, **options: done)
    monkeypatch.setattr(hang.os, "kill", lambda *arguments: sent.append(arguments))
    return sent


def test_py_spy_s_stack_ends_with_the_program(monkeypatch, capsys):
    sent = answer(monkeypatch, 0, DUMP, "")
    hang.py_spy({1: 18439})
    assert capsys.readouterr().out.splitlines() == [
        "$ py-spy dump --pid 18439    # rank 1",
        'Thread 18439 (idle): "MainThread"',
        "    average (job.py:7)",
        "    <module> (job.py:9)",
    ]
    assert not sent


def test_where_py_spy_may_not_attach_faulthandler_is_asked(monkeypatch, capsys):
    sent = answer(monkeypatch, 1, "", "Error: Permission denied (os error 13)\n")
    hang.py_spy({0: 11, 1: 12})
    assert sent == [(11, signal.SIGUSR1), (12, signal.SIGUSR1)]
    assert "cannot attach here: Error: Permission denied (os error 13)" in capsys.readouterr().out


@pytest.mark.slow
def test_the_lesson_shows_what_it_says(tmp_path, leftovers):
    step, display = get("6b"), run.Display(Console(quiet=True))
    result = run.execute(step.notebook, tmp_path, step.title, {"script": str(step.solution)}, display, timeout=800)
    assert result["status"] == "passed", result["error"]
    cells = {cell.id: cell for cell in nbformat.read(tmp_path / "step_06b.ipynb", as_version=4).cells}

    def printed(name):
        return "".join(output.get("text", "") for output in cells[name].outputs)

    # Which of the two has waited for longer, Horovod does not always say on a busy machine.
    assert re.search(r"Deadlock: .*rank 0 waits in “accuracy”", printed("hang-run"))
    assert re.search(r"\[0\] 0!?: \[gradients\]\n\[0\] 1!?: \[accuracy\]", printed("warning-lines"))
    assert re.search(r"rank 0: hang\.py, line 21 in <module>", printed("stacks-lines"))
    assert "Rank 1 waited in a collective" in printed("uneven-script")
    for name in ("healthy", "slow", "hang", "job-2"):
        assert "image/png" in cells[f"{name}-figure"].outputs[-1].data
    assert all("Missing ranks" in printed(f"job-{number}-warning") for number in (1, 3))
    assert re.search(r"job_3\.py(:|, line )27", printed("job-3-run")), "of py-spy or of faulthandler"
    assert "10 of 10 points" in cells["check-run"].outputs[-1].data["text/html"]
    assert leftovers() == []
