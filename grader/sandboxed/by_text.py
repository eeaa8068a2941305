"""What reading cannot decide is decided where a script runs: which attribute a text names, and whose attribute is set.

getattr, setattr and vars, as a script finds them, look up nothing private and no module, and change objects of the
script's own and argparse's alone. What a script assigns to is asked for first, too: no attribute of a class or of a
module that is not its own. So is what self and cls stand for, where something private of it is read.
"""

import argparse
import ast
import re
import sys
import types
from typing import Any

from grader.attributes import PARSERS, REFUSED

# Private, and of frames, tracebacks and generators.
CLOSED = re.compile(r"_.*|(?:ag|cr|f|gi|tb)_\w+|mro|ctypes")
OWN = argparse.Namespace, types.SimpleNamespace
STREAMS = "stdout", "stderr"  # what ranks print is read behind these
OBJECTS = "self", "cls", "other"  # names by which a script may read what is private: those of its own objects
ASKED = " own"  # no script can write this name


def _get(owner: Any, name: str, *default: Any) -> Any:
    _check_text(name)
    found = getattr(owner, name, *default)
    if CLOSED.fullmatch(name) or name in REFUSED | PARSERS or isinstance(found, types.ModuleType):
        raise AttributeError(f"A script looks up {name} by a text, which it may not.")
    return found


def _set(owner: Any, name: str, value: Any) -> None:
    _check_text(name)
    _check_own(owner)
    inherited = (vars(kind).get(name) for kind in type(owner).__mro__ if kind.__module__ != "__main__")
    if name.startswith("_") or any(map(callable, inherited)):
        raise AttributeError(f"A script sets {name} by a text, which it may not.")
    setattr(owner, name, value)


def _vars(owner: Any) -> dict[str, Any]:
    _check_own(owner)
    return vars(owner)


def _set_argument(owner: Any, name: str, value: Any) -> None:
    """Set an attribute as argparse does, whose actions a script may call with any object."""
    _check_own(owner)
    setattr(owner, name, value)


def _check_text(name: str) -> None:
    if type(name) is not str:  # which could be equal to another text each time it is asked
        raise AttributeError("A script looks up an attribute by something else than a text, which it may not.")


def _check_own(owner: Any) -> None:
    if not _is_own(type(owner)):
        raise AttributeError(
            f"A script looks at all attributes, or sets one, of an object of the class {type(owner).__name__}."
        )


def _is_own(kind: type) -> bool:
    """Whether a class is the script's own, argparse's for arguments, or inherits from one, as Horovod's optimizers."""
    return kind in OWN or any(base.__module__ == "__main__" for base in kind.__mro__)


def guarded(source: str) -> ast.Module:
    """Return a script's syntax tree, in which each object that gets an attribute is asked for first.

    Raises:
        SyntaxError: it is no script.
    """
    return ast.fix_missing_locations(_Guards().visit(ast.parse(source)))


class _Guards(ast.NodeTransformer):
    """Puts changeable around objects whose attributes are set or deleted, or read where they are private."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """Look at what is assigned to, or private of an object of a script's own, and at its parts."""
        self.generic_visit(node)
        private = node.attr.startswith("_") and not node.attr.endswith("__")
        own = isinstance(node.value, ast.Name) and node.value.id in OBJECTS
        if not isinstance(node.ctx, ast.Load) or (private and own):
            asked = ast.Call(ast.Name(ASKED, ast.Load()), [node.value, ast.Constant(node.attr)], [])
            node.value = ast.copy_location(asked, node.value)
        return node


def changeable(owner: Any, name: str) -> Any:
    """Return an object, if a script may change this attribute of it.

    Raises:
        AttributeError: it is a class or a module that is not the script's, or what it would change is private.
    """
    kind = owner if isinstance(owner, type) else type(owner)
    own = _is_own(kind) or (owner is sys and name in STREAMS)
    if not own and (isinstance(owner, type | types.ModuleType) or name.startswith("_")):
        raise AttributeError(f"A script replaces or reads {name} of {getattr(owner, '__name__', kind.__name__)}.")
    return owner


FUNCTIONS = {"getattr": _get, "setattr": _set, "vars": _vars}


def close() -> None:
    """Let argparse set attributes of arguments and of a script's own objects alone, in this process."""
    vars(argparse)["setattr"] = _set_argument
