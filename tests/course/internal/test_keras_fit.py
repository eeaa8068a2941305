"""The wrapper of Keras' fit: callbacks around the script's own, and a hook before and after the call."""

import contextlib

import numpy as np
import pytest

from course.internal.keras_fit import wrap_fit


@pytest.fixture(scope="module")
def tf():
    import tensorflow  # takes seconds, so not when tests are collected

    return tensorflow


@pytest.fixture
def order():
    """The names of callbacks, in the order in which training began for them."""
    return []


@pytest.fixture
def noted(tf, order):
    """Return a function that makes a callback with a name."""

    class Noted(tf.keras.callbacks.Callback):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def on_train_begin(self, logs=None):
            order.append(self.name)

    return Noted


@pytest.fixture
def wrap(tf, monkeypatch):
    """Return a function that wraps fit() by a generator, until the test ends."""
    monkeypatch.setattr(tf.keras.Model, "fit", tf.keras.Model.fit)
    return lambda around: wrap_fit(contextlib.contextmanager(around))


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
def test_callbacks_run_before_and_behind_the_script_s_own(wrap, model, noted, order, tf, given, expected):
    def around(call):
        assert [callback.name for callback in call.callbacks] == expected
        call.before.append(noted("before"))
        call.behind.append(noted("behind"))
        yield

    wrap(around)
    assert model.fit(ZEROS, ZEROS, verbose=0, callbacks=given(noted, tf)).history["loss"]
    assert order == ["before", *expected, "behind"]


def test_without_callbacks_to_add_keras_gets_what_the_script_gave(wrap, model, tf, monkeypatch):
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


def test_wrappers_nest(wrap, model, noted, order):
    def note(name):
        def around(call):
            call.before.append(noted(name))
            yield

        return around

    wrap(note("inner"))
    wrap(note("outer"))
    model.fit(ZEROS, ZEROS, verbose=0)
    assert order == ["inner", "outer"]


def test_an_argument_by_a_name_that_no_dictionary_finds_is_wrapped_too(model, wrap):
    class Name(str):
        __hash__ = object.__hash__  # so Python's own call finds it, and a look-up by "epochs" does not

    seen = []

    def around(call):
        seen.append(call.arguments["epochs"])
        yield

    wrap(around)
    model.fit(ZEROS, ZEROS, verbose=0, **{Name("epochs"): 2})
    assert seen == [2]
