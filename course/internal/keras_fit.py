"""Wrap Keras' Model.fit: one hook before and after every call, and callbacks around the script's own.

@contextmanager
def around(call: FitCall) -> Iterator[None]:
    call.before.append(First())
    call.behind.append(Last())
    try:
        yield                     # the real fit() runs here
    finally:
        print("final weights", call.model.get_weights())

wrap_fit(around)
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class FitCall:
    """One call of fit(), as the script made it.

    Attributes:
        model: the model that is trained.
        arguments: all arguments by name, defaults included, "self" among them. Changes reach Keras; to add callbacks,
            use before and behind.
        callbacks: the script's own callbacks, as a list, however they were given. Changes do not reach Keras.
        before: callbacks to run before the script's own.
        behind: callbacks to run after them. Where both lists stay empty, Keras gets the callbacks exactly as given.
    """

    model: Any
    arguments: dict[str, Any]
    callbacks: list[Any]
    before: list[Any] = field(default_factory=list)
    behind: list[Any] = field(default_factory=list)


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
            if call.before or call.behind:
                call.arguments["callbacks"] = [*call.before, *call.callbacks, *call.behind]
            return fit(*bound.args, **bound.kwargs)

    tf.keras.Model.fit = wrapped_fit


def _as_list(given: Any) -> list[Any]:
    """Return callbacks in the order in which Keras runs them: of None, one, a (nested) list or a CallbackList."""
    import tensorflow as tf

    if given is None:
        return []
    return list(given.callbacks) if isinstance(given, tf.keras.callbacks.CallbackList) else tf.nest.flatten(given)
