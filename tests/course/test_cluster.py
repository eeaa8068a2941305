"""The launcher of a TF_CONFIG cluster: it reports what its processes did, and leaves none behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from course import cluster, launch, steps
from tests.conftest import listen_to_interrupts, wait_until_up


@pytest.fixture
def program(tmp_path):
    """Return a function that writes a program, which knows its kind and its index."""

    def write(text, name="program.py"):
        head = """
            import json, os, sys, time
            task = json.loads(os.environ["TF_CONFIG"])["task"]
            kind, index = task["type"], task["index"]
        """
        path = tmp_path / name
        path.write_text(textwrap.dedent(head) + textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def serving(program):
    """A program that serves for long."""
    return program("print('up', flush=True)\ntime.sleep(99)", "serve.py")


@pytest.fixture
def servers(serving):
    """A cluster whose servers run. With a ps, only the chief is recorded: the other tasks do not import TensorFlow."""
    lines = []
    with cluster.Cluster(lines.append, chief=1, ps=1, worker=2) as started:
        started.printed = lines
        for kind, index in (("ps", 0), ("worker", 0), ("worker", 1)):
            started.await_line(started.start(kind, index, serving), lambda line: line == "up", timeout=30)
        yield started


def test_each_task_gets_its_tf_config_and_servers_end_with_the_chief(servers, program, leftovers):
    shows = program("print(kind, index, sys.argv[1:])\nprint(json.loads(os.environ['TF_CONFIG'])['cluster'])")
    chief = servers.start("chief", 0, shows, some_flag=3, left_out=None)
    servers.wait(timeout=30)
    addresses = servers.addresses
    assert [text for _, text in chief.lines] == ["chief 0 ['--some-flag', '3']", str(addresses)]
    assert len({address for kind in addresses.values() for address in kind}) == 4
    assert servers.printed[0].startswith("$ ps 0: python ") and "[worker 1] up" in servers.printed
    assert "[chief 0] chief 0 ['--some-flag', '3']" in servers.printed
    assert not any(task.running for task in servers.tasks.values())
    assert leftovers() == []


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("sys.exit('no luck')", r"evaluator 0 ended with exit status 1\. The last lines:\n.*\[evaluator 0\] no luck"),
        ("sys.exit(7)", r"evaluator 0 ended with exit status 7\. The last lines:\n\[evaluator 0\] so far"),
        ("os.kill(os.getpid(), 9)", r"evaluator 0 was killed by signal 9 \(SIGKILL\)\. .*\n\[evaluator 0\] so far"),
    ],
)
def test_a_failure_is_named_with_its_last_lines(servers, program, leftovers, end, how):
    servers.start("evaluator", 0, program(f"print('so far', flush=True)\n{end}"))
    with pytest.raises(launch.RunError, match=f"(?s){how}"):
        servers.wait(timeout=30)
    assert leftovers() == []


def test_a_timeout_is_reported(servers, serving, leftovers):
    servers.start("evaluator", 0, serving)
    with pytest.raises(launch.RunError, match=r"evaluator 0 did not end within 1 s"):
        servers.wait(timeout=1)
    assert leftovers() == []


def test_a_killed_task_is_started_again_at_its_address(servers, serving):
    task = servers.tasks["worker", 1]
    servers.kill(task)
    assert task.exit == 128 + signal.SIGKILL and not task.running
    assert servers.tasks["worker", 0].running
    assert servers.start("worker", 1, serving) is task
    servers.await_line(task, lambda line: line == "up", timeout=30)
    assert task.running


def test_a_missing_line_is_reported(servers, program):
    evaluator = servers.start("evaluator", 0, program("print('something else')"))
    with pytest.raises(launch.RunError, match=r"(?s)evaluator 0 did not print .*\[evaluator 0\] something else"):
        servers.await_line(evaluator, lambda line: line == "up", timeout=30)


def test_what_cannot_be_started_is_refused(servers, serving, tmp_path):
    with pytest.raises(launch.RunError, match="worker 0 is running already"):
        servers.start("worker", 0, serving)
    with pytest.raises(launch.RunError, match=r"no file .*nowhere\.py"):
        servers.start("evaluator", 0, tmp_path / "nowhere.py")


def test_a_task_that_was_never_started_cannot_be_killed():
    with cluster.Cluster(worker=1) as workers, pytest.raises(launch.RunError, match="worker 0 cannot be killed"):
        workers.kill(workers.tasks["worker", 0])


def test_an_exception_ends_everything(serving, leftovers):
    with pytest.raises(KeyError), cluster.Cluster(lambda line: None, ps=2) as started:
        for index in range(2):
            started.await_line(started.start("ps", index, serving), lambda line: line == "up", timeout=30)
        raise KeyError
    assert leftovers() == []


def test_lines_of_several_processes_are_not_mixed(program):
    parts = []

    def say(line):
        parts.append(line)
        time.sleep(0.001)
        parts.append("\n")

    counts = program("for number in range(100): print(number)")
    with cluster.Cluster(say, ps=1) as started:  # with a ps, evaluators do not import TensorFlow
        for index in range(2):
            started.start("evaluator", index, counts)
        started.wait(timeout=30)
    assert len(parts) == 2 * (2 + 2 * 100) and set(parts[1::2]) == {"\n"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_launcher(serving, leftovers, number):
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "course", "cluster", f"ps={serving}", f"worker={serving}", f"evaluator={serving}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=listen_to_interrupts,
    )
    wait_until_up(process, 3)
    os.kill(process.pid, number)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert leftovers() == []


def on_the_command_line(*commands):
    return subprocess.run([sys.executable, "-m", "course", "cluster", *commands], capture_output=True, text=True)


def test_a_cluster_runs_from_the_command_line(serving, program):
    works = program("print(kind, index, sys.argv[1])")
    ended = on_the_command_line(f"ps={serving}", f"worker:2={serving}", f"evaluator={works} 'two words'")
    assert ended.returncode == 0 and ended.stderr == ""
    assert "[evaluator 0] evaluator 0 two words\n" in ended.stdout
    assert ended.stdout.count("$ worker ") == 2


@pytest.mark.parametrize("command", ["", "x.py", "boss=x.py", "worker:two=x.py", "worker:2=", "worker:-1=x.py"])
def test_nonsense_on_the_command_line_is_refused(command):
    ended = on_the_command_line(command)
    assert ended.returncode == 2 and f"'{command}' is not like worker:2=" in ended.stderr


def test_a_program_that_is_not_there_is_one_line():
    ended = on_the_command_line("worker:2=nowhere.py")
    assert ended.returncode == 1 and ended.stderr == "There is no file nowhere.py here.\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("sys.exit(7)", r"worker 1 ended with exit status 7\. The last lines:\n\[worker 1\] worker 1"),
        ("os.kill(os.getpid(), 9)", r"worker 1 was killed by signal 9 \(SIGKILL\)\. .*\n\[worker 1\] worker 1"),
    ],
)
def test_a_failing_worker_is_named(program, leftovers, end, how):
    path = program(f"print(kind, index, flush=True)\nif index == 1: {end}\ntime.sleep(99)")
    with pytest.raises(launch.RunError, match=how):
        cluster.script(path, 2, say=lambda line: None, timeout=90)
    assert leftovers() == []


@pytest.mark.slow
def test_two_workers_train_one_model(leftovers, tmp_path):
    run = cluster.script(
        steps.SOLUTIONS / "mnist_multi_worker_solution.py",
        2,
        say=lambda line: None,
        timeout=180,
        variables={"COURSE_RECORD_WEIGHTS": "1"},
        epochs=2,
        train_samples=900,
        save_freq=2,
        log_dir=tmp_path,
    )
    first, second = run.records
    assert [epoch.steps for epoch in first.epochs] == [750 // 128] * 2
    assert [epoch.final_logs for epoch in first.epochs] == [epoch.final_logs for epoch in second.epochs]
    assert (first.weights == second.weights).all() and (first.weights[0] != first.weights[-1]).any()
    assert run.output[0][0] == "Epoch 1/2" and not any("Epoch" in line for line in run.output[1])
    assert {path.name for path in tmp_path.iterdir()} == {"backup", "checkpoints", "tensorboard"}
    assert {path.stem for path in (tmp_path / "checkpoints").glob("*.index")} == {"after-1", "after-2"}
    assert leftovers() == []
