"""What counts as a line of the script's own, and not of a library's."""

import pytest

from grader.checks.training import own_errors, said
from tests.grader.checks.made_up_horovod import rank


@pytest.mark.parametrize(
    "log",
    [
        "[",
        "[2026-11-23 12:00:00.123456: E /horovod/common/operations.cc:697] over",
        "2026-11-26 00:43:58.734704: E tensorflow/core/common_runtime/ring_alg.cc:291] Aborting: Socket closed\n"
        "Additional GRPC error information from remote target /job:worker/replica:0/task:0 while calling Receive:\n"
        ':{"created":"@1795653838.73","description":"Error received from peer ipv4:127.0.0.1:57055"}\n'
        "The error could be from a previous operation. Restart your program to reset.",
    ],
)
def test_what_libraries_log_is_no_line_of_the_script_s(log):
    assert own_errors(rank(1, stderr=f"{log}\nloss 0.5")) == "loss 0.5"


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("[2026-11-28 12:00:00. 49347: E /horovod/common/operations.cc:697] [0]: Connection closed by peer", False),
        ("[", False),
        (" 40%|####      | 2/5", False),
        ("ERROR:tensorflow:2 GPUs for 3 ranks", True),
        ("[rank 0] 2 GPUs for 3 ranks", True),
    ],
)
def test_a_script_says_what_it_prints_or_logs_and_not_what_horovod_logs(line, counts):
    assert said(rank(1, stderr=f"\n{line}\n")) == [line] * counts
