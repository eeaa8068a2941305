"""getattr, setattr and vars as a script finds them: reading cannot tell which attribute a text names.

They look up nothing private and no module, and change objects of the script's own and argparse's alone.
"""

import argparse
import re
import types
from typing import Any

CLOSED = re.compile(r"_.*|(?:ag|cr|f|gi|tb)_\w+|mro")  # private, and of frames, tracebacks and generators


def _get(owner: Any, name: str, *default: Any) -> Any:
    found = getattr(owner, name, *default)
    if CLOSED.fullmatch(name) or isinstance(found, types.ModuleType):
        raise AttributeError(f"A script looks up {name}: it may use neither private attributes nor modules by a text.")
    return found


def _set(owner: Any, name: str, value: Any) -> None:
    _check_own(owner)
    if name.startswith("_"):
        raise AttributeError(f"A script sets {name}: it may set no private attributes by a text.")
    setattr(owner, name, value)


def _vars(owner: Any) -> dict[str, Any]:
    _check_own(owner)
    return vars(owner)


def _check_own(owner: Any) -> None:
    kind = type(owner)
    if kind.__module__ != "__main__" and kind not in (argparse.Namespace, types.SimpleNamespace):
        raise AttributeError(f"A script looks at all attributes of an object of the class {kind.__name__} by a text.")


FUNCTIONS = {"getattr": _get, "setattr": _set, "vars": _vars}
