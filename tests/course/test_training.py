"""Solutions under mpirun, as lessons run them. What a solution does there, the judge looks at."""

import subprocess

import numpy as np
import pytest

from course import launch
from course.steps import get
from tests.conftest import TINY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """The folder for the logs of the last solution's run."""
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def run(logs):
    """The last solution's run on two ranks, with the weights."""
    return launch.script(get(6).solution, np=2, weights=True, log_dir=logs, **TINY)


def test_a_record_has_the_weights_before_the_first_batch_and_after_each(run):
    zero, one = (record.weights for record in run.records)
    assert not np.allclose(zero[0], one[0]) and np.allclose(zero[1:], one[1:], atol=1e-6)
    assert len(zero) == 1 + sum(epoch.steps for epoch in run.records[0].epochs) and not np.allclose(zero[1], zero[-1])


def test_a_record_has_a_rank_s_own_metrics_and_those_that_callbacks_read(run):
    for one, other in zip(*(record.epochs for record in run.records), strict=True):
        mean = (one.own_logs["val_loss"] + other.own_logs["val_loss"]) / 2
        assert one.final_logs["val_loss"] == other.final_logs["val_loss"] == pytest.approx(mean, rel=1e-4)


def test_logs_are_written_by_one_rank(run, logs):
    assert len(list(logs.glob("train/events.out.tfevents.*"))) == 1


def test_start_up_noise_stays_away(run):
    for line in run.output[0] + run.output.get(1, []):
        assert "This TensorFlow binary is optimized" not in line
        assert "Unable to register" not in line


def test_each_rank_takes_a_simulated_gpu_of_its_own():
    run = launch.script(get(1).solution, np=2, gpus=2, **TINY)
    assert [record.gpus for record in run.records] == [["GPU:0 (simulated)"], ["GPU:1 (simulated)"]]


def test_more_ranks_than_gpus_on_a_host_is_an_error():
    with pytest.raises(launch.RunError, match="Rank 2") as failed:
        launch.script(get(1).solution, np=3, gpus=2, **TINY)
    assert any("IndexError: list index out of range" in line for line in failed.value.printed["2"])


def test_a_rank_that_is_shown_one_gpu_takes_it():
    run = launch.script(get(1).solution, np=2, gpus=1, **TINY)
    assert [record.gpus for record in run.records] == [["GPU:0 (simulated)"], ["GPU:0 (simulated)"]]


def test_the_command_that_is_printed_can_be_pasted_into_a_terminal_in_the_lesson_s_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(get(3).notebook.parent)
    run = launch.script(get(3).starter, np=1, log_dir=tmp_path, **TINY)
    assert "../../solutions/" in run.command
    pasted = subprocess.run(run.command, shell=True, env=launch.environment(np=1), capture_output=True, text=True)
    assert pasted.returncode == 0 and "Test accuracy" in pasted.stdout, pasted.stderr
