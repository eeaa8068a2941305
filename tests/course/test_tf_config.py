"""TF_CONFIG: each wrong one gets its one line, before TensorFlow sees it."""

import json
import os
import socket
import subprocess
import sys

import pytest

from course import tf_config

CHECK = "import sys; from course import tf_config; print(*tf_config.check(float(sys.argv[1])), flush=True)"
STAY = "; sys.stdin.read()"


def check(text, patience=1, stay=False):
    """Start a process that checks its TF_CONFIG, and may stay until its input closes."""
    return subprocess.Popen(
        [sys.executable, "-c", CHECK + STAY * stay, str(patience)],
        env=os.environ | {"TF_CONFIG": text},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refusal(text, **options):
    """Return the one line by which a process refuses its TF_CONFIG."""
    process = check(text, **options)
    try:
        process.wait(20)
    finally:
        process.kill()
        _, line = process.communicate()
    assert process.returncode == 1 and line.count("\n") == 1
    return line


TWO = ["10.0.0.1:2222", "10.0.0.2:2222"]


def config(cluster=None, **task):
    return json.dumps({"cluster": {"worker": TWO} if cluster is None else cluster, "task": task})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"cluster": {', "is not JSON"),
        ("", "is not JSON"),
        ("[1]", 'has no "cluster"'),
        ('{"task": {"type": "worker", "index": 0}}', 'has no "cluster"'),
        (json.dumps({"cluster": {"worker": TWO}}), 'has no "task"'),
        (config(type="worker"), 'has no "task"'),
        (config(type="worker", index="0"), 'has no "task"'),
        (config(type="worker", index=True), 'has no "task"'),
        (config({"worker": [TWO[0]] * 2}, type="worker", index=0), f"worker 0 and worker 1 have the same .* {TWO[0]}"),
        (config({"worker": TWO, "ps": TWO[:1]}, type="ps", index=0), "worker 0 and ps 0 have the same address"),
        (config({"worker": ["localhost"]}, type="worker", index=0), "worker 0 has the address 'localhost'"),
        (config({"worker": ["a:99999"]}, type="worker", index=0), "'a:99999'; it should be host:port"),
        (config({"worker": TWO[0]}, type="worker", index=0), 'cluster has "worker": there are lists'),
        (config({"boss": TWO}, type="boss", index=0), 'cluster has "boss"'),
        (config(type="ps", index=0), 'this process is a "ps", and the cluster has worker alone'),
        (config(type="worker", index=2), "this process is worker 2, and the cluster has 2 of that kind"),
        (config(type="worker", index=-1), "this process is worker -1"),
    ],
)
def test_a_wrong_tf_config_is_refused(monkeypatch, text, said):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(tf_config.TaskError, match=said) as refused:
        tf_config.check()
    assert str(refused.value).startswith("TF_CONFIG") and "\n" not in str(refused.value)


def test_a_process_by_itself_is_worker_0(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert tf_config.check() == ("worker", 0)


def test_an_evaluator_is_in_no_cluster(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", config(type="evaluator", index=0))
    assert tf_config.check() == ("evaluator", 0)


def test_a_program_ends_with_the_line_alone():
    assert refusal('{"cluster"').startswith("TF_CONFIG is not JSON: ")


def test_an_index_is_one_process_s_alone():
    text = tf_config.make(tf_config.free_addresses({"worker": 2}), "worker", 1)
    first = check(text, patience=60, stay=True)
    try:
        assert first.stdout.readline() == "worker 1\n"
        assert "worker 1 of this cluster" in (line := refusal(text)) and "already running" in line
    finally:
        first.communicate()
    assert first.returncode == 0


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        text = tf_config.make({"worker": [address]}, "worker", 0)
        assert f"listen at {address}, and its port is in use" in refusal(text)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_port_that_the_process_itself_listens_at_is_not_another_program_s(family):
    with socket.create_server(("", 0), family=family, dualstack_ipv6=family == socket.AF_INET6) as own:
        port = own.getsockname()[1]
        with pytest.raises(tf_config.TaskError, match=r"this process listens there already\. Call check\(\) before"):
            tf_config._take("worker 0", f"127.0.0.1:{port}")


def test_an_address_without_an_answer_is_named():
    addresses = tf_config.free_addresses({"worker": 2})
    line = refusal(tf_config.make(addresses, "worker", 0), stay=True)
    assert f"worker 0 has waited 1 s for worker 1 at {addresses['worker'][1]}, without an answer" in line


def test_a_process_that_gets_answers_continues():
    with socket.create_server(("127.0.0.1", 0)) as other:
        addresses = [*tf_config.free_addresses({"worker": 1})["worker"], f"127.0.0.1:{other.getsockname()[1]}"]
        process = check(tf_config.make({"worker": addresses}, "worker", 0), stay=True)
        other.settimeout(20)
        other.accept()[0].close()  # it looked for the other one
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        out, error = process.communicate()
    assert (process.returncode, out, error) == (0, "worker 0\n", "")


def test_a_server_of_a_parameter_server_cluster_does_not_wait():
    addresses = tf_config.free_addresses({"ps": 1, "chief": 1})
    process = check(tf_config.make(addresses, "ps", 0), patience=0.5, stay=True)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2)
    out, error = process.communicate()
    assert (process.returncode, out, error) == (0, "ps 0\n", "")
