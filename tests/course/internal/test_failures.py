"""What a learner sees of a failed run: the reason, where each process was, and the rest folded away."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from course.internal.failures import Relay, RunError, places

TRACEBACK = [
    "Epoch 1/2",
    "Traceback (most recent call last):",
    '  File "/home/ada/fashion_mnist.py", line 218, in <module>',
    "    model.fit(",
    '  File "/venv/lib/python3.11/site-packages/keras/src/engine/training.py", line 1, in fit',
    "    raise e",
    "ValueError: odd",
]
MADE = ["Detected at node x defined at:", '  File "/home/ada/fashion_mnist.py", line 3, in <module>', '  File "/a.py"']
SHUT_DOWN = [*TRACEBACK[:-1], *MADE, "UnknownError: Horovod has been shut down. This was caused by …"]


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (TRACEBACK, ["[1] fashion_mnist.py, line 218: model.fit(", "[1] ValueError: odd"]),
        (SHUT_DOWN, ["[1] fashion_mnist.py, line 218: model.fit("]),
        (["so far", "no luck"], ["[1] no luck"]),
        ([], []),
    ],
)
def test_a_process_is_shown_at_its_last_line_of_the_program_and_with_its_error(lines, shown):
    assert places({"1": lines}) == shown


@pytest.fixture
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()  # or later tests would seem to run in a notebook


def test_an_error_repeats_the_last_lines_and_a_notebook_shows_reason_and_places_and_folds_the_rest(shell):
    error = RunError("Rank 1 ended with exit status 1. ", {"1": TRACEBACK})
    assert str(error).splitlines()[:2] == ["Rank 1 ended with exit status 1. The last lines:", "[1] Epoch 1/2"]
    shell.user_ns["error"] = error
    with capture_output() as captured:
        shell.run_cell("raise error")
    seen = captured.stdout
    assert "RunError: Rank 1 ended with exit status 1." in seen and "line 218: model.fit(" in seen
    assert "site-packages" not in seen and "run_cell" not in seen
    (folded,) = captured.outputs
    assert folded.data["text/html"].startswith("<details>") and "site-packages" in folded.data["text/html"]


def test_a_traceback_is_held_back_and_shown_if_the_run_goes_well(capsys):
    relay = Relay()
    for line in TRACEBACK:
        relay(f"[1] {line}")
    relay("[0] Missing ranks:")
    relay("[0] Epoch 1/2")
    assert capsys.readouterr().out.splitlines() == ["[1] Epoch 1/2", "[0] Epoch 1/2"]
    relay.release()
    assert capsys.readouterr().out.splitlines() == [f"[1] {line}" for line in TRACEBACK[1:]]
