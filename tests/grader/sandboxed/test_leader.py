"""Workers look for the first one only once its server is there."""

import socket

import pytest
from tensorflow.core.protobuf import tensorflow_server_pb2
from tensorflow.python import pywrap_tfe

from grader.sandboxed import leader


@pytest.fixture
def leading():
    """Return a socket of the first worker that does not listen yet."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        yield server


def started(monkeypatch, leading, index):
    """Start the server of the worker with this index, and return what the first one's port said by then."""
    addresses = f"127.0.0.1:{leading.getsockname()[1]}", "127.0.0.1:1"
    definition = tensorflow_server_pb2.ServerDef(job_name="worker", task_index=index)
    job = definition.cluster.job.add(name="worker")
    job.tasks.update(enumerate(addresses))
    seen = []

    def enable(context, text):
        with socket.socket() as probe:
            seen.append(probe.connect_ex(leading.getsockname()) == 0)

    monkeypatch.setattr(pywrap_tfe, "TFE_EnableCollectiveOps", enable)
    leader.await_leader()
    pywrap_tfe.TFE_EnableCollectiveOps(None, definition.SerializeToString())
    return seen


def test_a_worker_waits_for_the_first_one(monkeypatch, leading):
    monkeypatch.setattr(leader, "LOST", 60)
    create = socket.create_connection

    def tried(*args, **kwargs):
        try:
            return create(*args, **kwargs)
        finally:
            leading.listen()  # only after the first look

    monkeypatch.setattr(socket, "create_connection", tried)
    assert started(monkeypatch, leading, index=1) == [True]


def test_the_first_worker_waits_for_none(monkeypatch, leading):
    monkeypatch.setattr(socket, "create_connection", lambda *args, **kwargs: pytest.fail("it looks for itself"))
    assert started(monkeypatch, leading, index=0) == [False]


def test_a_first_worker_that_never_comes_does_not_hold_up_the_others(monkeypatch, leading):
    monkeypatch.setattr(leader, "LOST", 0.1)
    assert started(monkeypatch, leading, index=1) == [False]
