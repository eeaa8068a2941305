"""Solutions under mpirun, as lessons run them. What a solution does there, the judge looks at."""

import subprocess

import pytest

from course import launch
from course.steps import get
from tests.conftest import TINY

pytestmark = pytest.mark.slow


def test_start_up_noise_stays_away(tmp_path):
    run = launch.script(get(6).solution, np=2, log_dir=tmp_path, **TINY)
    for line in run.output[0] + run.output.get(1, []):
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
