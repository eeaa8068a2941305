"""With a coordinator, data that run out end the program each time."""

from types import SimpleNamespace

import pytest
import tensorflow as tf

from grader.sandboxed import shortages


def handler(steps):
    """Return what Keras has of a coordinator's data, for one epoch of so many steps."""
    made = object.__new__(shortages.HANDLER)
    vars(made).update(_model=SimpleNamespace(), _inferred_steps=steps, _epochs=1, _initial_epoch=0, _current_step=1)
    made._insufficient_data, made.sync = False, lambda: None
    return made


def test_data_that_run_out_are_an_error_and_those_that_suffice_are_none(monkeypatch):
    monkeypatch.setattr(shortages.HANDLER, "catch_stop_iteration", shortages.HANDLER.catch_stop_iteration)
    shortages.raise_shortages()
    with handler(2).catch_stop_iteration():
        pass
    with pytest.raises(tf.errors.OutOfRangeError, match="before the last step"), handler(2).catch_stop_iteration():
        raise tf.errors.OutOfRangeError(None, None, "End of sequence")


def test_the_end_of_data_whose_number_was_not_given_is_none(monkeypatch):
    monkeypatch.setattr(shortages.HANDLER, "catch_stop_iteration", shortages.HANDLER.catch_stop_iteration)
    shortages.raise_shortages()
    unknown = handler(None)
    with unknown.catch_stop_iteration():
        raise tf.errors.OutOfRangeError(None, None, "End of sequence")
    assert unknown._inferred_steps == 1
