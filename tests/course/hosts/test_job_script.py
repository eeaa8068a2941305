"""The program and the script of step 19's job: resuming after a signal, and running where Slurm is not installed.

The judge's corpus has what the script does under Slurm.
"""

import re
import signal
import subprocess
import sys

import pytest

from course import data, hosts, launch
from course.hosts import slurm, without_slurm
from course.hosts.queue import History
from course.steps import ROOT, SOLUTIONS

PROGRAM = str(SOLUTIONS / "hosts" / "fashion_mnist_job.py")
SIZES = ["--train-samples", "640", "--test-samples", "64", "--hidden", "8"]


@pytest.mark.slow
def test_a_training_continues_at_the_step_at_which_it_was_asked_to_end(tmp_path):
    command = ["mpirun", "-np", "2", sys.executable, PROGRAM, "--checkpoints", str(tmp_path), *SIZES]
    pipe = {"stdout": subprocess.PIPE, "text": True, "cwd": ROOT, "env": launch.environment(2)}
    with subprocess.Popen([*command, "--epochs", "1000"], **pipe) as first:
        printed = iter(first.stdout.readline, "")
        assert any(line.startswith("Epoch 2/") for line in printed)
        first.send_signal(signal.SIGUSR1)
        last = next(line for line in printed if line.startswith("Asked"))
    assert first.returncode == 0
    epoch, step = map(int, re.search(r"after epoch (\d+) and (\d+) of 10 steps", last).groups())
    second = subprocess.run([*command, "--epochs", str(epoch + 2)], **pipe, check=True).stdout
    start = divmod(10 * epoch + step, 10)
    assert f"start after epoch {start[0]} and {start[1]} of 10 steps" in second
    assert "The training has ended: accuracy 0." in second


@pytest.mark.slow
def test_the_script_runs_on_hosts_without_slurm(capsys):
    variables = {
        "DATA": data.SHIPPED,
        "CHECKPOINTS": "/shared/c",
        "DATA_NETWORK": "10.77.0.0/24",
    }
    job = [sys.executable, PROGRAM, *SIZES, "--epochs", "1"]
    with hosts.up(2, slots=1) as cluster:
        script = SOLUTIONS / "hosts" / "job.sbatch"
        assert without_slurm.run(cluster, script, job, variables=variables, timeout=120) == 0
        assert list(cluster.scratch("node2").iterdir()) == []
        assert (cluster.shared / "c" / "1" / "checkpoint").exists()
    assert "2 ranks start after epoch 0" in capsys.readouterr().out


@pytest.mark.skipif(slurm.missing() is not None, reason=str(slurm.missing()))
def test_a_history_has_what_happened_to_a_job(capsys):
    with hosts.up(2, slots=1) as cluster, slurm.up(cluster) as scheduler:
        number = scheduler.submit(
            "--requeue", "--open-mode=append", "--output=/shared/out", "--wrap", "echo started; sleep 99"
        )
        history = History(scheduler, number, "/shared/out")
        history.until(lambda job: job.state == "RUNNING")  # or it may have printed before it was seen to run
        history.until_printed("started")
        history.event("requeued")
        scheduler.ask("scontrol", "requeue", str(number))
        history.until(lambda job: job.state == "PENDING" and job.restarts == 1)
        scheduler.start_now(number)
        history.until(lambda job: job.state == "RUNNING")
        with pytest.raises(hosts.HostsError, match=r"is RUNNING after 0 s:\nstarted"):
            history.until(lambda job: False, timeout=0)
    states = [stretch.state for stretch in history.stretches if stretch.state in ("RUNNING", "PENDING")]
    assert states[-3:] == ["RUNNING", "PENDING", "RUNNING"]
    assert history.stretches[-1].nodes in (("node1",), ("node2",))
    assert [what for _, what in history.events] == ["requeued"]
    assert "RUNNING on node" in capsys.readouterr().out
