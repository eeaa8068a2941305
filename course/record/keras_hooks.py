"""Hooks into Keras: a context around every call of Model.fit, what happens during the training, the data of each step.

class Listener:
    def epoch_ends(self, epoch, logs):
        print("epoch", epoch, logs)

@contextmanager
def around(call: FitCall) -> Iterator[None]:
    call.listener = Listener()
    try:
        yield                     # the real fit() runs here
    finally:
        print("final weights", call.model.get_weights())

wrap_fit(around)

A listener may have any of the methods in BEFORE and BEHIND. Each has the arguments of the hook of Keras that calls it.
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

# Called before the script's own callbacks act: what training itself did.
BEFORE = {
    "epoch_begins": "on_epoch_begin",
    "batch_updated": "on_train_batch_end",
    "validation_begins": "on_test_begin",
    "validation_batch_ends": "on_test_batch_end",
    "epoch_measured": "on_epoch_end",
}
# Called after the script's own callbacks: what these left behind.
BEHIND = {
    "training_begins": "on_train_begin",
    "batch_begins": "on_train_batch_begin",
    "batch_ends": "on_train_batch_end",
    "epoch_ends": "on_epoch_end",
    "training_ends": "on_train_end",
}

STEPS = {"train_step": False, "test_step": True}  # methods of a Keras model, and whether they validate


@dataclass
class FitCall:
    """One call of fit(), as the script made it.

    Attributes:
        model: the model that is trained.
        arguments: all arguments by name, defaults included, "self" among them. Changes reach Keras.
        callbacks: the script's own callbacks, as a list, however they were given. Changes do not reach Keras.
        listener: is called during this training. Without one, Keras gets the callbacks exactly as given.
    """

    model: Any
    arguments: dict[str, Any]
    callbacks: list[Any]
    listener: object | None = None


def wrap_fit(around: Callable[[FitCall], AbstractContextManager[object]]) -> None:
    """Replace tf.keras.Model.fit by a function that calls the real one within around(call).

    A call whose arguments do not match the signature of fit() goes to Keras unchanged, which raises the error that
    describes it. What the context manager or the real fit() raises, SystemExit included, reaches the caller.

    Args:
        around: returns a context manager; the real fit() runs in its block.
    """
    import tensorflow as tf  # takes seconds, so not when this module is imported

    fit = tf.keras.Model.fit
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    def wrapped_fit(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return fit(*args, **kwargs)
        bound.apply_defaults()
        call = FitCall(bound.arguments["self"], bound.arguments, _as_list(bound.arguments["callbacks"]))
        with around(call):
            if call.listener:
                before, behind = (_callback(call, hooks) for hooks in (BEFORE, BEHIND))
                call.arguments["callbacks"] = [before, *call.callbacks, behind]
            return fit(*bound.args, **bound.kwargs)

    tf.keras.Model.fit = wrapped_fit


def _callback(call: FitCall, hooks: dict[str, str]) -> Any:
    """Return a callback whose hooks are the listener's methods. Keras skips hooks that no callback defines."""
    import tensorflow as tf

    callback = tf.keras.callbacks.Callback()
    # A coordinator of parameter servers refuses hooks for batches, unless they do without the values of the metrics.
    callback._supports_tf_logs = call.model.distribute_strategy._should_use_with_coordinator
    for method, hook in hooks.items():
        if hasattr(call.listener, method):
            setattr(callback, hook, getattr(call.listener, method))
    return callback


def _as_list(given: Any) -> list[Any]:
    """Return callbacks in the order in which Keras runs them: of None, one, a (nested) list or a CallbackList."""
    import tensorflow as tf

    if given is None:
        return []
    return list(given.callbacks) if isinstance(given, tf.keras.callbacks.CallbackList) else tf.nest.flatten(given)


def watch_steps(note: Callable[[Any, bool, Any], None]) -> None:
    """Call a function before each step of a training or a validation, those of models with their own steps included.

    Args:
        note: takes the model, whether the step validates, and the step's data.
    """
    import tensorflow as tf

    model = tf.keras.Model
    within: list[Callable[..., Any]] = []  # the steps that are being taken, one within the other

    def noted(step: Callable[..., Any], validates: bool) -> Callable[..., Any]:
        def call(this: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
            if not within:  # a step of the script's own may call Keras'
                note(this, validates, data)
            within.append(step)
            try:
                return step(this, data, *args, **kwargs)
            finally:
                within.pop()

        return call

    def watch_class(kind: Any, **options: Any) -> None:
        for name, validates in STEPS.items():
            if name in vars(kind):
                setattr(kind, name, noted(vars(kind)[name], validates))
        super(model, kind).__init_subclass__(**options)

    for name, validates in STEPS.items():
        setattr(model, name, noted(getattr(model, name), validates))
    model.__init_subclass__ = classmethod(watch_class)
