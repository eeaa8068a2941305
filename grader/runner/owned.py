"""What is a script's own: its names, methods, attributes and arguments, as far as reading can tell."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator

from grader.runner import nodes

NAMING = {
    "add_argument",
    "set_defaults",
    "namedtuple",
    "SimpleNamespace",
    "Namespace",
    "Enum",
    "update",
    "dict",
}  # attributes, by its arguments
NAMING |= {"TensorFlowKerasState", "TensorFlowState"}
OPTION = re.compile(r"(--)?[a-z][a-z0-9_-]{0,40}")
MADE = "namedtuple", "NamedTuple", "Generic", "Protocol"  # what makes a class to inherit from
# What tells of the state of an object of these: no class that inherits from them defines it anew.
STATE = {
    ("Model", "Sequential"): {"__eq__", "__hash__"},
    ("SGD", "Adam", "AdamW", "Optimizer", "RMSprop"): {"iterations", "learning_rate", "lr"},
}
DEEP = 10  # classes, each inheriting from the one before
DECORATING = {"dataclasses.dataclass", "functools.total_ordering"}  # what changes a class that it is given
PARSERS = {"argparse.ArgumentParser", "course.mobilenet.flags"}  # what makes a parser of arguments


class Owned:
    """What a script defines.

    Attributes:
        classes: that it defines.
        class_names: of those that stand for a class of its own, and for nothing else at any time.
        methods: of its classes, by the names of class and method.
        selves: the uses of self, cls and other that stand for an object, or a class, of its own.
        names: of variables, functions, classes and parameters.
        otherwise: those of them that are bound by something else than an assignment or a loop.
        made: variables that hold a class which was made to inherit from, and nothing else at any time.
        attributes: that it gives to objects, as far as that can be read.
        private: those of them that begin with an underscore, of objects of its own classes.
        arguments: the variables that hold what argparse returned, and nothing else at any time.
        objects: the variables that hold an object of one of its classes, and nothing else at any time.
    """

    def __init__(self, nodes_: list[ast.AST], paths: Callable[[ast.AST], set[str]]):
        """Look through the nodes of a script; paths says what a node may stand for, if that is imported."""
        self.nodes, self.paths = nodes_, paths
        self.classes = [node for node in nodes_ if isinstance(node, ast.ClassDef)]
        self.methods = self._methods()
        self.otherwise = {name for node in nodes_ if (name := nodes.bound_otherwise(node))}
        self.names = {name for node in nodes_ if (name := nodes.bound(node))}
        times = Counter(filter(None, map(nodes.bound, nodes_)))
        alone = [each for each in self.classes if times[each.name] == 1 and self._is_plain(each)]
        self.class_names = {each.name for each in alone}
        self.selves = {name for method in self.methods.values() for name in nodes.own_objects(method)}
        if "isinstance" not in self.names:
            self.selves.update(*map(nodes.compared, alone))
        self.made = {name for name in self.names if self._holds_only(name, _makes_class)}
        self.attributes = self._attributes()
        self.private = self._private()
        self.arguments = set(self._arguments())
        self.objects = {name for name in self.names if self._holds_only(name, self._makes_object)}

    def _is_plain(self, kind: ast.ClassDef) -> bool:
        """Whether the objects of a class are those that it makes: an abstract class may take in others."""
        made = [each.func if isinstance(each, ast.Call) else each for each in kind.decorator_list]
        known = all(self.imported(each) and self.paths(each) and self.paths(each) <= DECORATING for each in made)
        plain = all(self.imported(base) and self.paths(base) == {"typing.NamedTuple"} for base in kind.bases)
        return known and plain and not kind.keywords and not self.paths(ast.Name(kind.name))

    def _methods(self) -> dict[tuple[str, str], ast.FunctionDef]:
        """Return the methods of the script's classes, by the names of both."""
        pairs = ((node, part) for node in self.classes for part in nodes.methods(node))
        return {(node.name, part.name): part for node, part in pairs}

    def _attributes(self) -> set[str]:
        """Return the attributes that the script gives to objects, as far as that can be read."""
        names = {node.attr for node in self.nodes if isinstance(node, ast.Attribute) and node.value in self.selves}
        for node in self.nodes:
            if isinstance(node, ast.ClassDef):
                names |= nodes.defined(node.body)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and OPTION.fullmatch(node.value):
                names.add(node.value.lstrip("-").replace("-", "_"))  # argparse may get it by way of a table
            elif isinstance(node, ast.Call) and (nodes.last(node.func) in NAMING or nodes.names_option(node)):
                names |= {word.arg for word in node.keywords if word.arg}
                for text in (each for given in [*node.args, *node.keywords] for each in ast.walk(given)):
                    if isinstance(text, ast.Constant) and isinstance(text.value, str) and len(text.value) < 200:
                        names |= {part.lstrip("-").replace("-", "_") for part in text.value.replace(",", " ").split()}
        return {name for name in names if name.isidentifier()}

    def _private(self) -> set[str]:
        """Return the private attributes that the script gives to objects of its own classes."""
        stored = {
            node.attr
            for node in self.nodes
            if isinstance(node, ast.Attribute) and node.value in self.selves and isinstance(node.ctx, ast.Store)
        }
        methods = {name for _, name in self.methods}
        variables = {name for node in self.classes for name in nodes.defined(node.body)}
        return stored | methods | variables

    def origins(self, node: ast.ClassDef, deep: int = DEEP) -> set[str]:
        """Return the dotted paths of the imported classes that a class inherits from, by way of the script's own."""
        found = {path for base in node.bases for path in self.paths(base)}
        bases = [each for each in self.classes if any(nodes.root(base) == each.name for base in node.bases)]
        return found.union(*(self.origins(each, deep - 1) for each in bases if deep))

    def anew(self, node: ast.ClassDef, names: set[str]) -> Iterator[str]:
        """Yield what a class defines anew, by these names, of what models and optimizers tell about their state."""
        origins = {path.split(".")[-1] for path in self.origins(node)}
        for classes, told in STATE.items():
            yield from (f"defines {name} anew" for name in sorted(names & told) if origins & set(classes))
        if origins & {"Model", "Sequential"} and any("dataclass" in ast.unparse(each) for each in node.decorator_list):
            yield "compares models as data classes"

    def _arguments(self) -> Iterator[str]:
        """Yield the names that hold what argparse returned, and nothing else at any time."""
        parsers = {name for name in self.names if self._holds_only(name, self._is_parser)}
        for name in self.names:
            if self._holds_only(name, lambda value: self._is_parsed(value, parsers)):
                yield name

    def _holds_only(self, name: str, kind: Callable[[ast.AST], bool]) -> bool:
        """Whether a variable is assigned nothing but values of a kind, and not bound in another way."""
        values = [
            node.value
            for node in self.nodes
            if isinstance(node, ast.Assign) and len(node.targets) == 1
            if isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
        ]
        stored = [node for node in self.nodes if isinstance(node, ast.Name) and node.id == name]
        stores = sum(not isinstance(node.ctx, ast.Load) for node in stored)
        return bool(values) and stores == len(values) and name not in self.otherwise and all(map(kind, values))

    def _is_parser(self, value: ast.AST) -> bool:
        return isinstance(value, ast.Call) and self.imported(value.func) and bool(self.paths(value.func) & PARSERS)

    def imported(self, node: ast.AST) -> bool:
        """Whether what a dotted name begins with is bound by imports alone."""
        return nodes.root(node) not in self.names

    def _makes_object(self, value: ast.AST) -> bool:
        name = value.func.id if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else ""
        return name in self.class_names and (name, "__new__") not in self.methods

    def _is_parsed(self, value: ast.AST, parsers: set[str]) -> bool:
        match value:
            case ast.Call(ast.Attribute(ast.Name(parser), "parse_args")):
                return parser in parsers
            case ast.Call(ast.Attribute(made, "parse_args")):
                return self._is_parser(made)
        return False


def _makes_class(value: ast.AST) -> bool:
    return isinstance(value, ast.Call) and nodes.last(value.func) in MADE
