"""The names that nodes of a script's syntax tree bind, define or belong to."""

import ast
from collections.abc import Iterable

# Of methods, by which the first parameter stays an object of the class, or the class.
DECORATORS = "property", "classmethod", "setter", "cached_property", "abstractmethod", "function", "override"
ANNOTATION = ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load


def defined(body: list[ast.stmt]) -> set[str]:
    """Return what the body of a class defines, in its blocks, too: methods, classes and variables."""
    names: set[str] = set()
    inside: list[ast.AST] = list(body)
    while inside:
        node = inside.pop()
        names |= {bound(node) or ""}
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            inside += ast.iter_child_nodes(node)
    return names - {""}


def methods(kind: ast.ClassDef) -> Iterable[ast.FunctionDef]:
    """Yield the methods of a class, those in blocks of its body, too."""
    inside: list[ast.AST] = list(kind.body)
    while inside:
        node = inside.pop(0)
        if isinstance(node, ast.FunctionDef):
            yield node
        elif not isinstance(node, ast.ClassDef):
            inside += ast.iter_child_nodes(node)


def bound_otherwise(node: ast.AST) -> str | None:
    """Return the name that a node binds by something else than an assignment, a loop or an import."""
    match node:
        case ast.FunctionDef(name) | ast.ClassDef(name) | ast.arg(name):
            return name
        case ast.ExceptHandler(_, name) | ast.MatchAs(_, name) | ast.MatchStar(name) | ast.MatchMapping(_, _, name):
            return name
    return None


def bound(node: ast.AST) -> str | None:
    """Return the name that a node binds by anything but an import."""
    stores = isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    return node.id if stores else bound_otherwise(node)  # type: ignore[attr-defined]


def annotations(tree: ast.AST) -> set[ast.AST]:
    """Return all parts of plain annotations, that is, of those that call nothing, and that no object shows."""
    inside = list(ast.walk(tree))
    classes = [node for node in inside if isinstance(node, ast.ClassDef)]
    shown = {part for node in classes if node.decorator_list or _is_tuple(node) for part in node.body}  # as fields
    written = [getattr(node, "annotation", None) for node in inside if node not in shown]
    written += [node.returns for node in inside if isinstance(node, ast.FunctionDef)]
    parts = [list(ast.walk(each)) for each in written if each]
    return {part for each in parts if all(isinstance(part, ANNOTATION) for part in each) for part in each}


def _is_tuple(kind: ast.ClassDef) -> bool:
    return any(last(base) in ("NamedTuple", "TypedDict") for base in kind.bases)


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


def parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """Return the node that each node is a part of."""
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def own_objects(method: ast.FunctionDef) -> set[ast.AST]:
    """Return the uses of self, or cls, in a method, where it is the first parameter and nothing else has its name."""
    parameters = [*method.args.posonlyargs, *method.args.args]
    first = parameters[0].arg if parameters else ""
    inside = list(ast.walk(method))
    names = [node for node in inside if isinstance(node, ast.Name) and node.id == first]
    imported = {node.asname or node.name for node in inside if isinstance(node, ast.alias)}
    times = sum(first == bound_otherwise(node) for node in inside)
    bound_again = times > 1 or first in imported or not all(isinstance(name.ctx, ast.Load) for name in names)
    decorated = any(last(each) not in DECORATORS for each in method.decorator_list)
    return set() if first not in ("self", "cls") or bound_again or decorated else set(names)


def compared(kind: ast.ClassDef) -> set[ast.AST]:
    """Return the uses of other in __eq__ and __lt__ of a class, asked before whether it is of this class."""
    found: set[ast.AST] = set()
    for method in kind.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__eq__", "__lt__") and len(method.args.args) == 2:
            other = method.args.args[1].arg
            inside = list(ast.walk(method))
            uses = {node for node in inside if isinstance(node, ast.Name) and node.id == other}
            times = sum(other == bound_otherwise(node) for node in inside)
            if times == 1 and all(isinstance(use.ctx, ast.Load) for use in uses):
                found |= uses & set(_behind(method, f"isinstance({other}, {kind.name})"))
    return found


def _behind(method: ast.FunctionDef, question: str) -> Iterable[ast.AST]:
    """Yield the parts of a method that run only where the answer to a question is yes."""
    first = method.body[1 if ast.get_docstring(method) and len(method.body) > 1 else 0]
    if ast.unparse(first) == f"if not {question}:\n    return NotImplemented":
        yield from ast.walk(method)
    for node in ast.walk(method):
        match node:
            case ast.IfExp(test, body) if ast.unparse(test) == question:
                yield from ast.walk(body)
            case ast.BoolOp(ast.And(), [asked, *others]) if ast.unparse(asked) == question:
                yield from (part for other in others for part in ast.walk(other))


def hides(node: ast.AST, parent: ast.AST) -> str | None:
    """Say by which way of writing, that no plain script needs, a node hides what a name stands for, if so."""
    match node, parent:
        case ((ast.Import() | ast.ImportFrom()), ast.ClassDef()):
            return "imports in the body of a class"
        case ast.AugAssign(ast.Attribute(_, "environ")), _:
            return "changes all of os.environ"
    return None
