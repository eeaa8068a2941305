"""Watch what goes into each step of a training and of a validation, also where a model of the script has its own."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

STEPS = {"train_step": False, "test_step": True}  # of Keras' models; whether it validates

Note = Callable[[Any, bool, Any], None]  # called with the model, whether it validates, and the data


def watch(note: Note) -> None:
    """Have note called once with the data of each step, before the step."""
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
