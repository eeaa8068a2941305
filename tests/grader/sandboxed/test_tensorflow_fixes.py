"""The work-arounds for TensorFlow and Keras 2.15: each shows what it changes."""

import gc
import socket
import weakref
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import tensorflow_server_pb2
from tensorflow.python import pywrap_tfe

from grader.sandboxed import tensorflow_fixes


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
    tensorflow_fixes.await_first_worker()
    pywrap_tfe.TFE_EnableCollectiveOps(None, definition.SerializeToString())
    return seen


def test_a_worker_waits_for_the_first_one(monkeypatch, leading):
    monkeypatch.setattr(tensorflow_fixes, "RETRY", 60)
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
    monkeypatch.setattr(tensorflow_fixes, "RETRY", 0.1)
    assert started(monkeypatch, leading, index=1) == [False]


def test_an_iterator_that_nothing_refers_to_is_not_taken_down(monkeypatch):
    for kind in tensorflow_fixes.ITERATORS:
        monkeypatch.setattr(kind, "__init__", kind.__init__)  # as it was, after the test
    monkeypatch.setattr(tensorflow_fixes, "_kept", [])
    tensorflow_fixes.keep_iterators()
    made = weakref.ref(iter(tf.data.Dataset.range(2)))
    gc.collect()
    assert made() is not None and next(made()) == 0


def handler(steps):
    """Return what Keras has of a coordinator's data, for one epoch of so many steps."""
    made = object.__new__(tensorflow_fixes.HANDLER)
    vars(made).update(_model=SimpleNamespace(), _inferred_steps=steps, _epochs=1, _initial_epoch=0, _current_step=1)
    made._insufficient_data, made.sync = False, lambda: None
    return made


def test_data_that_run_out_are_an_error_and_those_that_suffice_are_none(monkeypatch):
    monkeypatch.setattr(tensorflow_fixes.HANDLER, "catch_stop_iteration", tensorflow_fixes.HANDLER.catch_stop_iteration)
    tensorflow_fixes.raise_when_data_run_out()
    with handler(2).catch_stop_iteration():
        pass
    with pytest.raises(tf.errors.OutOfRangeError, match="before the last step"), handler(2).catch_stop_iteration():
        raise tf.errors.OutOfRangeError(None, None, "End of sequence")


def test_the_end_of_data_whose_number_was_not_given_is_none(monkeypatch):
    monkeypatch.setattr(tensorflow_fixes.HANDLER, "catch_stop_iteration", tensorflow_fixes.HANDLER.catch_stop_iteration)
    tensorflow_fixes.raise_when_data_run_out()
    unknown = handler(None)
    with unknown.catch_stop_iteration():
        raise tf.errors.OutOfRangeError(None, None, "End of sequence")
    assert unknown._inferred_steps == 1


@pytest.mark.parametrize("kind", [tf.errors.NotFoundError, tf.errors.InvalidArgumentError])
def test_a_save_whose_files_another_worker_takes_away_is_repeated(kind):
    save = Mock(side_effect=[kind(None, None, "after-2_temp/part-00000-of-00001 not found"), "saved"], __name__="save")
    assert tensorflow_fixes.repeated(save)("after-2") == "saved" and save.call_count == 2
