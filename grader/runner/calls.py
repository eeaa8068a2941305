"""Find calls that need manual review: those that load code from data, or reach attributes by a text or a copy."""

import ast
from collections.abc import Callable, Iterator

from grader.attributes import PARSERS
from grader.runner.owned import DECORATING

Paths = Callable[[ast.AST], set[str]]
CODE_FLAGS = {"allow_pickle": False, "safe_mode": True}  # keywords with the value that lets no code in
# Functions that are called with one argument, and not handed on: further ones give them attributes to copy, or a
# dictionary in which they leave what they find behind an object.
LIMITED = {"functools.wraps", "copy.deepcopy"}
SHOWS = "isinstance", "issubclass", "print", "repr", "str"  # what is asked about a type


def lets_in(call: ast.Call, stands_for: Paths, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """Yield what a call lets in.

    Args:
        call: in a script.
        stands_for: returns the dotted paths that a node may stand for, if that is imported.
        parents: of each node, the one that it is a part of.
    """
    paths, parent = stands_for(call.func), parents[call]
    name = getattr(call.func, "attr", "") or getattr(call.func, "id", "")
    unpacked = any(isinstance(each, ast.Starred) for each in call.args) or any(not word.arg for word in call.keywords)
    for path in sorted(paths & LIMITED):
        if len(call.args) + len(call.keywords) != 1 or unpacked:
            yield f"calls {path} with more than one argument"
    if "functools.wraps" in paths and not isinstance(parent, ast.FunctionDef):
        yield "copies attributes with functools.wraps"
    yield from (f"changes a class with {path}" for path in sorted(paths & DECORATING) if call.args)
    if name in PARSERS and (len(call.args) > 1 or unpacked or any(word.arg != "args" for word in call.keywords)):
        yield f"gives {name}() an object for the arguments"
    if name == "add_argument" and not isinstance(parent, ast.Expr):
        yield "keeps what add_argument() returns, by which attributes are set"
    if any(path.startswith("argparse.") and path.endswith("Action") for path in paths):
        yield "makes an action of argparse, by which attributes are set"
    if isinstance(call.func, ast.Name) and name == "type" and not (_asks(parent) or _wrapped(call, stands_for)):
        yield "uses a type for more than to look at it"
    for word in call.keywords:
        value = word.value.value if isinstance(word.value, ast.Constant) else None
        if word.arg in CODE_FLAGS and value is not CODE_FLAGS[word.arg]:
            yield f"lets code in with {word.arg}"


def _asks(parent: ast.AST) -> bool:
    """Whether what is done with a type is to compare it, to ask for its name or to show it."""
    match parent:
        case ast.Compare() | ast.FormattedValue() | ast.Attribute(_, "__name__" | "__qualname__"):
            return True
        case ast.Call(ast.Name(name)):
            return name in SHOWS
    return False


def _wrapped(call: ast.Call, stands_for: Paths) -> bool:
    """Whether a type is that of Horovod's optimizer, which has no name of its own, and which Keras needs for a file."""
    match call.args:
        case [ast.Call(made)]:
            return any(path.endswith(".DistributedOptimizer") for path in stands_for(made))
    return False
