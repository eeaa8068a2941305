"""What each solution does under two ranks: what its step brings is there from that step on, and not before."""

import subprocess

import numpy as np
import pytest

from course import launch
from course.steps import get
from tests.conftest import TINY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Step number -> the run of its solution on two ranks, each with a seed of its own."""
    logs = tmp_path_factory.mktemp("logs")
    return {
        step.number: launch.script(step.solution, np=2, weights=True, log_dir=logs / step.name, **TINY)
        for step in map(get, [0, *BROUGHT])
    } | {"logs": logs}


def initialised(run):
    return [record.horovod for record in run.records] == [[0, 2, 0], [1, 2, 1]]


def rank_0_alone_reports(run):
    return "Test accuracy" in "\n".join(run.output[0]) and not any("Epoch" in line for line in run.output.get(1, []))


def updates_agree(run):
    zero, one = (np.diff(record.weights[1:], axis=0) for record in run.records)
    return np.allclose(zero, one, atol=1e-6) and np.abs(zero).max() > 1e-4


def weights_are_equal_after_the_first_batch(run):
    zero, one = (record.weights for record in run.records)
    return not np.allclose(zero[0], one[0]) and np.allclose(zero[1:], one[1:], atol=1e-6)


def epoch_is_shared(run):
    return all(
        (epoch.steps, epoch.validation_steps) == (4 // 2, 3 * 2 // 2)
        for record in run.records
        for epoch in record.epochs
    )


def callbacks_read_the_mean(run):
    zero, one = (record.epochs for record in run.records)
    return all(
        a.final_logs["val_loss"] == pytest.approx((a.own_logs["val_loss"] + b.own_logs["val_loss"]) / 2, rel=1e-4)
        and a.final_logs["val_loss"] == b.final_logs["val_loss"]
        for a, b in zip(zero, one, strict=True)
    )


BROUGHT = {
    1: initialised,
    2: rank_0_alone_reports,
    3: updates_agree,
    4: weights_are_equal_after_the_first_batch,
    5: epoch_is_shared,
    6: callbacks_read_the_mean,
}


@pytest.mark.parametrize("number", BROUGHT)
def test_a_step_brings_what_it_is_for(runs, number):
    has = {step: BROUGHT[number](run) for step, run in runs.items() if step != "logs"}
    assert has == {step: step >= number for step in has}


def test_logs_are_written_by_one_rank(runs):
    assert len(list((runs["logs"] / "step_06").glob("train/events.out.tfevents.*"))) == 1


def test_start_up_noise_stays_away(runs):
    for line in runs[6].output[0] + runs[6].output.get(1, []):
        assert "This TensorFlow binary is optimized" not in line
        assert "Unable to register" not in line


def test_three_ranks_share_an_epoch_too():
    run = launch.script(get(7).solution, np=3, **TINY)
    assert [record.epochs[0].steps for record in run.records] == [4 // 3] * 3


def test_each_rank_takes_a_simulated_gpu_of_its_own():
    run = launch.script(get(1).solution, np=2, gpus=2, **TINY)
    assert [record.gpus for record in run.records] == [["GPU:0 (simulated)"], ["GPU:1 (simulated)"]]


def test_more_ranks_than_gpus_on_a_host_is_said_clearly():
    with pytest.raises(launch.RunError, match="2 ranks on a host with 1 GPUs: start one rank per GPU"):
        launch.script(get(1).solution, np=2, gpus=1, **TINY)


def test_the_command_that_is_printed_can_be_pasted_into_a_terminal_in_the_lesson_s_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(get(3).notebook.parent)
    run = launch.script(get(3).starter, np=1, log_dir=tmp_path, **TINY)
    assert "../../solutions/" in run.command
    pasted = subprocess.run(run.command, shell=True, env=launch.environment(np=1), capture_output=True, text=True)
    assert pasted.returncode == 0 and "Test accuracy" in pasted.stdout, pasted.stderr
