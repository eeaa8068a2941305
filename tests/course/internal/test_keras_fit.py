"""The wrapper of Keras' fit: callbacks around the script's own, and a hook before and after the call."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.keras.callbacks import Callback, CallbackList

from course.internal.keras_fit import wrap_fit


class Noted(Callback):
    """Adds its name to a list when training begins."""

    def __init__(self, name, order):
        super().__init__()
        self.name, self.order = name, order

    def on_train_begin(self, logs=None):
        self.order.append(self.name)


@pytest.fixture
def wrap(monkeypatch):
    """Return a function that wraps fit() by a generator, until the test ends."""
    monkeypatch.setattr(tf.keras.Model, "fit", tf.keras.Model.fit)
    return lambda around: wrap_fit(contextlib.contextmanager(around))


@pytest.fixture
def model():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(loss="mse", optimizer="sgd", run_eagerly=True)
    return model


ZEROS = np.zeros((4, 1))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (lambda order: None, []),
        (lambda order: [], []),
        (lambda order: Noted("own", order), ["own"]),
        (lambda order: (Noted("1", order), [Noted("2", order)]), ["1", "2"]),
        (lambda order: CallbackList([Noted("own", order)]), ["own"]),
    ],
    ids=["none", "empty", "one", "nested", "CallbackList"],
)
def test_callbacks_run_before_and_behind_the_script_s_own(wrap, model, given, expected):
    order = []

    def around(call):
        assert [callback.name for callback in call.callbacks] == expected
        call.before.append(Noted("before", order))
        call.behind.append(Noted("behind", order))
        yield

    wrap(around)
    assert model.fit(ZEROS, ZEROS, verbose=0, callbacks=given(order)).history["loss"]
    assert order == ["before", *expected, "behind"]


def test_without_callbacks_to_add_keras_gets_what_the_script_gave(wrap, model, monkeypatch):
    got, given = [], CallbackList()
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


def test_an_error_of_fit_passes_through_the_hook(wrap, model):
    order = []

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


def test_wrappers_nest(wrap, model):
    order = []

    def note(name):
        def around(call):
            call.before.append(Noted(name, order))
            yield

        return around

    wrap(note("inner"))
    wrap(note("outer"))
    model.fit(ZEROS, ZEROS, verbose=0)
    assert order == ["inner", "outer"]
