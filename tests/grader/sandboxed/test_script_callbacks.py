"""Reading metrics: whatever way a callback takes, what it read is known."""

import pytest

from grader.sandboxed.script_callbacks import ReadLogs

LOGS = {"loss": 1.0, "accuracy": 0.5}


@pytest.mark.parametrize(
    "read",
    [
        lambda logs: logs["loss"],
        lambda logs: logs.get("loss"),
        lambda logs: logs.setdefault("loss", 3.0),
        lambda logs: logs.pop("loss"),
        lambda logs: dict(logs)["loss"],
        lambda logs: {**logs}["loss"],
        lambda logs: {name: logs[name] for name in logs}["loss"],
    ],
)
def test_what_is_read_is_noted(read):
    logs = ReadLogs(LOGS)
    assert read(logs) == 1.0 and logs.last_read["loss"] == 1.0


def test_what_is_not_there_is_not_read():
    logs = ReadLogs(LOGS)
    assert (logs.get("other"), logs.setdefault("other", 2.0), logs.pop("none", 3)) == (None, 2.0, 3)
    assert "none" not in logs.last_read
