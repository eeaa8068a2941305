"""Close the ways by which data and texts become code, since the judge reads a script's text and not its data.

Unpickling finds functions by their names, Keras builds layers from configurations that name any function of any module,
and a Lambda layer may bring its code with it. None of these has honest use in a lesson; plain values still pass.
"""

import functools
import importlib
import io
import linecache
import logging
import pickle
import secrets
import string
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf
from keras.src.saving import serialization_lib
from keras.src.saving.legacy import serialization
from keras.src.utils import generic_utils
from tensorflow.python.autograph.pyct import loader
from tensorflow.python.trackable import base

from grader.sandboxed import by_text

# What a pickle may name: kinds of plain values, and what NumPy makes its arrays with.
PLAIN = {
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "collections": {"Counter", "OrderedDict", "defaultdict", "deque"},
    "datetime": {"date", "datetime", "timedelta"},
    "pathlib": {"PosixPath", "PurePosixPath"},
    "numpy": {"dtype", "ndarray"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.numeric": {"_frombuffer"},
    "_codecs": {"encode"},
}
KERAS = "keras", "horovod"  # packages whose classes a configuration may name
# Of their classes, parts of models and of training; of their functions, those of losses, metrics and activations. Other
# ones, such as a module that is loaded when it is used, would let in anything.
PARTS = (
    *(base.Trackable, tf.keras.losses.Loss, tf.keras.initializers.Initializer, tf.keras.regularizers.Regularizer),
    *(tf.keras.constraints.Constraint, tf.keras.optimizers.schedules.LearningRateSchedule),
    tf.keras.mixed_precision.Policy,
)
ACTIVATIONS = tf.nn.leaky_relu, tf.nn.log_softmax, tf.nn.relu6, tf.nn.silu  # that are TensorFlow's
FUNCTIONS = "keras.src.losses", "keras.src.metrics", "keras.src.activations"

UNPICKLER: Any = pickle._Unpickler  # the one that is written in Python
IN_C = {name: getattr(pickle, name) for name in ("load", "loads", "Unpickler")}  # cloudpickle has them, too


class CodeInDataError(Exception):
    """Data of a script bring code with them, or name a function to call."""


class _Modules:
    """What Keras' deserialization takes for importlib."""

    @staticmethod
    def import_module(name: str) -> Any:
        """Return a module of a package that configurations may name; of the script, its classes.

        Raises:
            CodeInDataError: it is another one.
        """
        if name == "__main__":
            return types.SimpleNamespace(**_own_classes())
        operations = {each.__name__: each for each in ACTIVATIONS if each.__module__ == name}
        if operations:
            return types.SimpleNamespace(**operations)
        if name.split(".")[0] not in KERAS:
            raise CodeInDataError(f"A configuration names something in the module {name}: it is not loaded here.")
        module = vars(importlib.import_module(name))
        return types.SimpleNamespace(**{key: value for key, value in module.items() if _is_public(key, value)})


def _is_public(name: str, value: Any) -> bool:
    """Whether a name in a module is that of a class or a function of a package that configurations may name."""
    made_in = str(getattr(value, "__module__", ""))
    if name.startswith("_") or made_in.split(".")[0] not in KERAS:
        return False
    if isinstance(value, type):
        return issubclass(value, PARTS)
    return isinstance(value, types.FunctionType) and made_in.startswith(FUNCTIONS)


_field = string.Formatter.get_field


def _named(formatter: string.Formatter, field_name: str, args: Any, kwargs: Any) -> Any:
    """Return what a format names: a value, and no attribute of one."""
    if "." in field_name or "[" in field_name:
        raise ValueError(f"A format reads {field_name}: it may name values alone.")
    return _field(formatter, field_name, args, kwargs)


class _PlainStyle(logging.StrFormatStyle):
    """The style of log records that is called "{", which would read attributes of what a record holds."""

    def _format(self, record: logging.LogRecord) -> str:
        return string.Formatter().vformat(self._fmt, (), {**(getattr(self, "_defaults", None) or {}), **vars(record)})


class _PlainUnpickler(UNPICKLER):
    """Gives no attributes to classes and functions, which a pickle may name, and to no data type but a plain one's own.

    A data type with fields of a pickle's choice reads any address.
    """

    dispatch: ClassVar = dict(UNPICKLER.dispatch)

    def load_build(self) -> None:
        """Refuse it, or do as Python does."""
        if isinstance(self.stack[-2], type | types.FunctionType | types.BuiltinFunctionType):
            raise pickle.UnpicklingError("A pickle gives attributes to a class or a function.")
        super().load_build()
        built = self.stack[-1]
        if isinstance(built, np.dtype) and not _is_plain(built):
            raise pickle.UnpicklingError("A pickle makes a data type of its own: only plain ones are unpickled here.")

    dispatch[pickle.BUILD[0]] = load_build


def _is_plain(kind: Any) -> bool:
    """Whether a data type is what NumPy makes of its name, and so has no fields."""
    named = np.dtype(kind.str)
    return not kind.subdtype and (kind, kind.itemsize, kind.flags) == (named, named.itemsize, named.flags)


def _load(file: Any, **options: Any) -> Any:
    return _PlainUnpickler(file, **options).load()


def _loads(data: Any, /, **options: Any) -> Any:
    return _load(io.BytesIO(data), **options)


def _own_classes() -> dict[str, type]:
    """Return the classes that the script itself defines."""
    kinds = {name: value for name, value in vars(sys.modules["__main__"]).items() if isinstance(value, type)}
    return {name: kind for name, kind in kinds.items() if kind.__module__ == "__main__"}


def close() -> None:
    """Close them, in this process, permanently."""
    sys.addaudithook(_heard)
    serialization_lib.importlib = _Modules
    instead: dict[str, Any] = {"load": _load, "loads": _loads, "Unpickler": _PlainUnpickler}
    for module in list(sys.modules.values()):
        held = vars(module) if isinstance(module, types.ModuleType) else {}
        held.update((name, instead[name]) for name, found in IN_C.items() if held.get(name) is found)
    generic_utils.func_load = _no_code
    for library in (serialization_lib, serialization):
        _narrow(library.deserialize_keras_object)
    loader.load_source = _load_source
    string.Formatter.get_field = _named  # type: ignore[assignment, method-assign]
    logging._STYLES["{"] = _PlainStyle, logging._STYLES["{"][1]  # type: ignore[assignment]


def _narrow(deserialize: Callable[..., Any]) -> None:
    """Let a function of Keras', wherever that has it, find no more than classes and functions of Keras' by a text."""

    @functools.wraps(deserialize)
    def narrowed(*args: Any, **kwargs: Any) -> Any:
        return deserialize(*map(_public, args), **{name: _public(value) for name, value in kwargs.items()})

    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in KERAS and getattr(module, deserialize.__name__, None) is deserialize:
            setattr(module, deserialize.__name__, narrowed)


def _public(value: Any) -> Any:
    """Return what is public in all that a module has, if the value is that; any other value as it is."""
    if not (isinstance(value, dict) and "__builtins__" in value):
        return value
    return {key: held for key, held in value.items() if _is_public(key, held)}


def _load_source(source: str, delete_on_exit: bool) -> tuple[types.ModuleType, str]:
    """Load what AutoGraph has converted, from memory: AutoGraph's own function does so from a file that all can write.

    It stands in for that function, which returns the module and the name of its file, too.
    """
    name = f"__autograph_generated_{len(sys.modules)}_{secrets.token_hex(4)}"
    file = f"/{name}.py"
    module = types.ModuleType(name)
    module.__file__ = file
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(by_text.guarded(source), file, "exec", dont_inherit=True), vars(module))
    sys.modules[name] = module
    return module, file


def _heard(event: str, details: tuple[Any, ...]) -> None:
    """Refuse an unpickler what is no plain value; an audit hook cannot be taken away again (PEP 578)."""
    if event == "pickle.find_class":
        module, name = details
        own = module == "__main__" and name in _own_classes()
        if not own and name not in PLAIN.get(module, ()):
            raise pickle.UnpicklingError(f"A pickle names {module}.{name}: only plain values are unpickled here.")


def _no_code(*args: object, **kwargs: object) -> Any:
    raise CodeInDataError("A model brings code with it, of a Lambda layer: it is not loaded here.")
