"""The hooks into Keras: a context around fit(), a listener around the script's own callbacks, the data of each step."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest

from course.record.keras_hooks import BEFORE, BEHIND, watch_steps, wrap_fit


@pytest.fixture(scope="module")
def tf():
    import tensorflow  # takes seconds, so not when tests are collected

    return tensorflow


@pytest.fixture
def order():
    """What happened, in order."""
    return []


@pytest.fixture
def noted(tf, order):
    """Return a function that makes a callback with a name, which notes each hook that is called."""

    class Noted(tf.keras.callbacks.Callback):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def on_epoch_end(self, epoch, logs=None):
            order.append(self.name)

        def on_train_batch_end(self, batch, logs=None):
            order.append(f"{self.name} {batch}")

    return Noted


@pytest.fixture
def wrap(tf, monkeypatch):
    """Return a function that wraps fit() by a generator, until the test ends."""
    monkeypatch.setattr(tf.keras.Model, "fit", tf.keras.Model.fit)
    return lambda around: wrap_fit(contextlib.contextmanager(around))


@pytest.fixture
def listen(wrap, order):
    """Return a function that wraps fit() by a listener, which notes its methods of these names."""

    def listening(*methods):
        def around(call):
            call.listener = SimpleNamespace(**{name: lambda *args, name=name: order.append(name) for name in methods})
            yield

        wrap(around)

    return listening


@pytest.fixture
def model(tf):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer="sgd", run_eagerly=True)
    return model


ZEROS = np.zeros((4, 1))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (lambda noted, tf: None, []),
        (lambda noted, tf: [], []),
        (lambda noted, tf: noted("own"), ["own"]),
        (lambda noted, tf: (noted("1"), [noted("2")]), ["1", "2"]),
        (lambda noted, tf: tf.keras.callbacks.CallbackList([noted("own")]), ["own"]),
    ],
    ids=["none", "empty", "one", "nested", "CallbackList"],
)
def test_a_listener_is_called_before_and_behind_the_script_s_own_callbacks(
    listen, model, noted, order, tf, given, expected
):
    listen("batch_updated", "batch_ends", "epoch_measured", "epoch_ends")
    assert model.fit(ZEROS, ZEROS, verbose=0, callbacks=given(noted, tf)).history["loss"]
    batch = ["batch_updated", *(f"{name} 0" for name in expected), "batch_ends"]
    assert order == [*batch, "epoch_measured", *expected, "epoch_ends"]


def test_a_listener_learns_of_a_whole_training_in_order(listen, model, order):
    listen(*BEFORE, *BEHIND)
    model.fit(ZEROS, ZEROS, verbose=0, validation_data=(ZEROS, ZEROS))
    batch, validation = ["batch_begins", "batch_updated", "batch_ends"], ["validation_begins", "validation_batch_ends"]
    assert order == ["training_begins", "epoch_begins", *batch, *validation, "epoch_measured", "epoch_ends", order[-1]]
    assert order[-1] == "training_ends"


@pytest.mark.parametrize("coordinated", [False, True])
def test_with_parameter_servers_a_listener_may_have_methods_for_batches(listen, tf, monkeypatch, coordinated):
    got = []
    monkeypatch.setattr(tf.keras.Model, "fit", lambda self, callbacks=None: got.extend(callbacks))
    listen("batch_ends")
    strategy = SimpleNamespace(_should_use_with_coordinator=coordinated)
    tf.keras.Model.fit(SimpleNamespace(distribute_strategy=strategy))
    assert [callback._supports_tf_logs for callback in got] == [coordinated] * 2
    assert [callback._implements_train_batch_hooks() for callback in got] == [False, True]


def test_without_a_listener_keras_gets_what_the_script_gave(wrap, model, tf, monkeypatch):
    got, given = [], tf.keras.callbacks.CallbackList()
    monkeypatch.setattr(tf.keras.Model, "fit", lambda self, callbacks=None: got.append(callbacks))

    def around(call):
        yield

    wrap(around)
    model.fit(callbacks=given)
    assert len(got) == 1 and got[0] is given


def test_arguments_have_defaults_and_can_be_changed(wrap, model):
    seen = []

    def around(call):
        seen.append((call.model, call.arguments["epochs"], call.arguments["batch_size"], call.arguments["x"] is ZEROS))
        call.arguments["epochs"] = 3
        yield

    wrap(around)
    assert len(model.fit(ZEROS, ZEROS, 2, verbose=0).history["loss"]) == 3
    assert seen == [(model, 1, 2, True)]


def test_an_error_of_fit_passes_through_the_hook(wrap, model, order):
    def around(call):
        try:
            yield
        finally:
            order.append("after")

    wrap(around)
    with pytest.raises(ValueError, match="cardinality"):
        model.fit(ZEROS, np.zeros((3, 1)), verbose=0)
    assert order == ["after"]


def test_the_hook_can_end_the_program(wrap, model):
    def around(call):
        raise SystemExit(3)
        yield

    wrap(around)
    with pytest.raises(SystemExit, match="3"):
        model.fit(ZEROS, ZEROS, verbose=0)
    assert not model.built


def test_wrong_arguments_are_reported_by_keras_itself(wrap, model):
    wrap(lambda call: pytest.fail("there is no call"))
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected keyword argument 'epoch'"):
        model.fit(ZEROS, ZEROS, epoch=1)


def test_the_data_of_each_step_are_seen_once_in_models_with_their_own_steps_too(tf, monkeypatch):
    for name in ("train_step", "test_step", "__init_subclass__"):
        monkeypatch.setattr(tf.keras.Model, name, getattr(tf.keras.Model, name))
    seen = []
    watch_steps(lambda model, validates, data: seen.append((validates, len(data[0]))))

    class Own(tf.keras.Sequential):
        def train_step(self, data):
            return super().train_step(data)

    for kind in (tf.keras.Sequential, Own):
        model = kind([tf.keras.layers.Dense(1)])
        model.compile(loss="mse", optimizer="sgd", run_eagerly=True)
        model.fit(ZEROS, ZEROS, verbose=0, validation_data=(ZEROS[:3], ZEROS[:3]))
        assert seen == [(False, 4), (True, 3)]
        seen.clear()
