"""What parts of a script's syntax tree are called."""

import ast
from collections.abc import Iterable


def defined(body: list[ast.stmt]) -> set[str]:
    """Return what the body of a class defines: methods, classes and variables."""
    names = {part.name for part in body if isinstance(part, ast.FunctionDef | ast.ClassDef)}
    for part in body:
        targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def names_option(call: ast.Call) -> bool:
    """Whether a call names an option of the command line, by whatever name add_argument goes."""
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith("--")


def inner(node: ast.Attribute) -> Iterable[ast.AST]:
    """Return the parts of a dotted name, which is looked at as a whole."""
    part = node.value
    while isinstance(part, ast.Attribute):
        yield part
        part = part.value
    yield part


def last(function: ast.expr) -> str | None:
    """Return the last name of what is called."""
    return getattr(function, "attr", None) or getattr(function, "id", None)


def root(node: ast.AST) -> str | None:
    """Return the name that a dotted name begins with; None for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
