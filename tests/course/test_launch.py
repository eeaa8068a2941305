"""Ranks under mpirun: every failure is reported, and no process is left."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from course import launch
from tests.conftest import listen_to_interrupts, wait_until_up

HVD = "import os, time\nimport horovod.tensorflow as hvd, tensorflow as tf\nhvd.init()\n"


@pytest.fixture
def program(tmp_path):
    def write(text: str):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        ("plain", "plain"),
        ("a\rb\rc", "c"),
        ("1/2 [=>..]\b\b\b\r2/2 [====]", "2/2 [====]"),
        ("progress\r", "progress"),
        (f"15/16 [{28 * '='}>.] - ETA: 0s\b\b\r16/16 [{30 * '='}] - 3s - loss: 2.4", "16/16 - 3s - loss: 2.4"),
        (f"a [{30 * '='}] b", f"a [{30 * '='}] b"),
        ("", ""),
    ],
)
def test_a_line_is_kept_as_a_terminal_shows_it(printed, seen):
    assert launch.as_terminal(printed) == seen


def test_a_deadlock_is_explained_by_horovod_s_last_report():
    """The rank that Horovod marks is at fault, also where the other one is in the list before it."""
    warnings = ["Missing ranks:", "1: [accuracy]", "Missing ranks:", "0: [gradients]", "1!: [accuracy]"]
    run = launch.Run("mpirun", 2, output={0: [*warnings, "Will shutdown."]})
    message = str(launch._failure(run, 1))
    assert "rank 0 waits in “accuracy”; rank 1 never joins it: it waits in “gradients”" in message


def test_a_rank_that_waits_for_one_that_has_ended_is_reported_with_both_ranks():
    shut_down = "Horovod has been shut down. This was caused by an exception on one of the ranks"
    exited = ["Process name: [prterun-host-7@1,1]", "Exit code:    1"]
    output = {0: ["done"], 1: ["in _average_metrics_in_place", shut_down], 2: ["x", shut_down]}
    run = launch.Run("mpirun", 3, output=output, notices=[" ".join(exited)])
    assert "Rank 1 waited in the average of the metrics for rank 0, which had already ended." in str(
        launch._failure(run, 1)
    )
    del output[0], output[2]
    assert "Rank 1 waited in the average of the metrics for a rank that had already" in str(launch._failure(run, 1))


def test_a_rank_that_fails_by_itself_is_not_said_to_wait():
    """Another rank may report Horovod's end before mpirun ends it."""
    run = launch.Run("mpirun", 2, output={0: ["Horovod has been shut down."], 1: ["ValueError: odd"]})
    run.notices = ["Process name: [prterun-host-7@1,1] Exit code:    1"]
    assert "Rank 1 ended with exit status 1" in str(launch._failure(run, 1))


def test_the_user_s_own_settings_win(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert launch.environment(np=2)["OMP_NUM_THREADS"] == "7"


def test_a_script_that_is_not_there_is_named():
    with pytest.raises(launch.RunError, match=r"no file nowhere\.py"):
        launch.script("nowhere.py", np=2)


def test_each_rank_gets_its_number():
    say = []
    code = "import os; print(os.environ['OMPI_COMM_WORLD_RANK'], os.environ['OMPI_COMM_WORLD_LOCAL_RANK'])"
    run = launch.mpirun([sys.executable, "-c", code], np=3, say=say.append)
    assert run.output == {0: ["0 0"], 1: ["1 1"], 2: ["2 2"]}
    assert say[0].startswith("$ mpirun -np 3") and sorted(say[1:]) == ["[0] 0 0", "[1] 1 1", "[2] 2 2"]


@pytest.mark.slow
def test_keras_does_not_complain_of_slow_callbacks_and_other_warnings_stay(program):
    warn = "import tensorflow as tf\nwarn = tf.get_logger().warning\n"
    path = program(warn + "warn('`on_train_batch_end` is slow compared to the batch time')\nwarn('another one')")
    (lines,) = launch.script(path, np=1, say=lambda line: None).output.values()
    assert "another one" in lines[-1] and "slow" not in "".join(lines)


def test_an_exit_status_is_named_with_the_rank_and_its_last_lines(leftovers):
    code = "import os, sys, time; os.environ['OMPI_COMM_WORLD_RANK'] == '1' and sys.exit('no luck'); time.sleep(99)"
    with pytest.raises(launch.RunError, match=r"Rank 1 ended with exit status 1.*\n\[1\] no luck"):
        launch.mpirun([sys.executable, "-c", code], np=2)
    assert leftovers() == []


def test_a_timeout_is_reported(leftovers):
    with pytest.raises(launch.RunError, match=r"The run timed out after 1 s"):
        launch.mpirun(["sleep", "99"], np=2, timeout=1)
    assert leftovers() == []


def test_a_killed_launcher_is_named(leftovers):
    with pytest.raises(launch.RunError, match=r"mpirun itself was killed by signal 9 \(SIGKILL\)"):
        launch.mpirun(["bash", "-c", "kill -9 $PPID; sleep 99"], np=1)
    assert leftovers() == []


def test_ranks_that_do_not_fill_the_hosts_are_refused(program):
    with pytest.raises(launch.RunError, match="3 ranks do not fill 2 hosts evenly"):
        launch.script(program("pass"), np=3, hosts=2)


@pytest.mark.slow
def test_ranks_of_two_hosts_have_local_ranks_and_disks_of_their_own(program, leftovers, monkeypatch, tmp_path):
    numbers = "hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size()"
    summed = "int(hvd.allreduce(tf.constant(hvd.rank() + 1), op=hvd.Sum))"
    path = program(HVD + f"print({numbers})\nprint({summed})\nopen('mine', 'x').close()")
    monkeypatch.chdir(tmp_path)
    threads, say = set(threading.enumerate()), []
    run = launch.script(path.name, np=2, hosts=2, say=say.append)
    assert run.output == {0: ["0 2 0 1 0 2", "3"], 1: ["1 2 0 1 1 2", "3"]}
    assert say[0] == "$ mpirun -np 2 --host host-0:1,host-1:1 python program.py"
    assert sorted(tmp_path.glob("*/mine")) == [tmp_path / "host-0" / "mine", tmp_path / "host-1" / "mine"]
    assert set(threading.enumerate()) <= threads
    assert leftovers() == []


@pytest.mark.slow
def test_a_killed_rank_is_named(program, leftovers):
    path = program(HVD + "if hvd.rank() == 1: os.kill(os.getpid(), 9)\nhvd.allreduce(tf.ones(1))")
    with pytest.raises(launch.RunError, match=r"Rank 1 was killed by signal 9 \(SIGKILL\)"):
        launch.script(path, np=2)
    assert leftovers() == []


@pytest.mark.slow
def test_an_exception_on_one_rank_is_shown_in_the_script_s_own_lines(program, leftovers):
    path = program(HVD + "if hvd.rank() == 1: raise ValueError('odd rank')\nhvd.allreduce(tf.ones(1))")
    with pytest.raises(launch.RunError) as caught:
        launch.script(path, np=2)
    message = str(caught.value)
    assert "Rank 1 ended" in message and "ValueError: odd rank" in message and "program.py" in message
    assert "recorder.py" not in message and "runpy" not in message
    assert leftovers() == []


@pytest.mark.slow
def test_a_collective_that_one_rank_never_joins_is_named(program, leftovers):
    path = program(HVD + "while hvd.rank() == 1: time.sleep(1)\nhvd.allreduce(tf.ones(1))")
    soon = {"HOROVOD_STALL_CHECK_TIME_SECONDS": "1", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "3"}
    with pytest.raises(launch.RunError, match="rank 0 waits in an allreduce; rank 1 never joins it"):
        launch.script(path, np=2, variables=soon)
    assert leftovers() == []


@pytest.mark.slow
def test_a_rank_that_is_done_early_is_explained(program, leftovers):
    path = program(HVD + "if hvd.rank() == 0: hvd.allreduce(tf.ones(1))")
    with pytest.raises(launch.RunError, match="Rank 0 waited in a collective for rank 1, which had already ended"):
        launch.script(path, np=2)
    assert leftovers() == []


# Prints a line of each rank, so that the test knows that both are up, and would sleep for long.
SLEEPERS = """
from course import launch
launch.mpirun(["bash", "-c", "echo up; sleep 99"], np=2)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ranks_end_with_the_process_that_started_them(leftovers, number):
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", SLEEPERS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=listen_to_interrupts,
    )
    wait_until_up(process, 2)
    os.kill(process.pid, number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert leftovers() == []
