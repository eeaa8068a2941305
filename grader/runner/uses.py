"""What a script uses that is not on the list of what plain training scripts use, found by reading it.

A submission runs in one process with its recorder, so it must not get at anything there but what it was meant to use.
Modules and what they hold are followed, by whatever name the script gives them. An attribute of any other value is
judged by its name. What is not on the list is no fault: a person looks at it.
"""

import ast
import builtins
from collections.abc import Iterator

from grader.attributes import PARSERS
from grader.runner import calls, nodes, texts
from grader.runner.allowlist import BUILTIN, METHODS, NAMES, VALUES, allowed, is_module
from grader.runner.owned import DECORATING, MADE, Owned

# Not even a variable may be called so: reading cannot tell when it is there, and when the built-in function is.
POWERFUL = {
    *("__build_class__", "__builtins__", "__import__", "__loader__", "__spec__", "breakpoint", "compile", "delattr"),
    *("eval", "exec", "globals", "locals", "memoryview"),
}
ALIASES = 20  # of one thing, each of another one, that are followed
# Classes that look up an attribute by a text that a class of the script's could set.
CLOSED = {"contextlib.redirect_stderr", "contextlib.redirect_stdout", "warnings.catch_warnings"}
PROPERTIES = {"property", "cached_property", "setter", "getter", "deleter"}
MATCHED = {"bool", "bytes", "dict", "float", "int", "list", "set", "str", "tuple"}  # themselves by the only position
UNREADABLE = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)  # nothing that a training script does


def out_of_place(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the line and the description of each thing in a script that a person has to look at."""
    return sorted(set(Reading(tree).reasons()))


class Reading:
    """What a script's names stand for."""

    def __init__(self, tree: ast.Module):
        """Look through a script, whose depth the caller has limited."""
        self.nodes = list(ast.walk(tree))
        self.parents = nodes.parents(tree)
        self.modules: dict[str, set[str]] = {}  # name -> dotted paths of modules, or of what they hold
        self._note_imports()
        self.own = Owned(self.nodes, self.paths)
        self.aliases: set[ast.AST] = set()  # values that are given a name, by which reading follows them
        self.settled = self._note_aliases()
        self.mixed = self._mixed_names()
        self.decorators = {each for node in self.nodes for each in getattr(node, "decorator_list", [])}
        self.called: dict[ast.AST, ast.Call] = {node.func: node for node in self.nodes if isinstance(node, ast.Call)}
        self.plain = self._plain_nodes(tree)

    # --- names ---

    def _note_imports(self) -> None:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    path = alias.name if alias.asname else alias.name.split(".")[0]
                    self.modules.setdefault(alias.asname or path, set()).add(path)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.modules.setdefault(alias.asname or alias.name, set()).add(f"{node.module}.{alias.name}")

    def _note_aliases(self) -> bool:
        """Note names for modules or for what they hold, such as layers = tf.keras.layers; return whether all are."""
        pairs = [
            (target.id, node.value)
            for node in self.nodes
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and isinstance(node.value, ast.Attribute | ast.Name)
            and not isinstance(self.parents[node], ast.ClassDef)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and len(getattr(node, "targets", [target])) == 1
        ]
        self.aliases.update(value for _, value in pairs)
        # What is unpacked is no module: a variable has the module's name.
        self.aliases.update(
            node.value
            for node in self.nodes
            if isinstance(node, ast.Assign) and all(isinstance(target, ast.Tuple) for target in node.targets)
        )
        for _ in range(ALIASES):
            before = sum(map(len, self.modules.values()))
            for name, value in pairs:
                paths = self.paths(value)
                if paths:
                    self.modules.setdefault(name, set()).update(paths)
            if sum(map(len, self.modules.values())) == before:
                return True
        return not pairs

    def _mixed_names(self) -> set[str]:
        """Return the names that stand for something imported at one place, and perhaps for anything at another."""
        followed = {
            target
            for node in self.nodes
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value in self.aliases and self.paths(node.value)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        }
        stored = [node for node in self.nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
        return self.modules.keys() & (self.own.otherwise | {node.id for node in stored if node not in followed})

    def paths(self, node: ast.AST) -> set[str]:
        """Return what a name or a dotted name may stand for, if it begins with something imported."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        roots = self.modules.get(node.id, set()) if isinstance(node, ast.Name) else set()
        return {".".join([root, *reversed(names)]) for root in roots}

    def _plain_nodes(self, tree: ast.Module) -> set[ast.AST]:
        """Return nodes that are plain where they stand: parts of larger ones, and uses that the list cannot tell."""
        plain: set[ast.AST] = set()
        for node in self.nodes:
            if isinstance(node, ast.Attribute):
                if self.paths(node):
                    plain.update(nodes.inner(node))
                if node.attr in ("__name__", "__qualname__") and isinstance(node.value, ast.Attribute):
                    plain |= {node.value} if node.value.attr == "__class__" else set()
            elif node in self.aliases and isinstance(node, ast.Name) and node.id in self.modules:
                plain.add(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                plain |= {node.func} if self._is_plain_call(node) else set()
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "object.__setattr__":  # see _of_call
                plain |= {node.func} if len(node.args) == 3 and node.args[0] in self.own.selves else set()
        shown = nodes.annotations(tree)  # type[Kind] and P.kwargs
        plain |= {node for node in shown if {getattr(node, "id", ""), getattr(node, "attr", "")} & {"type", "kwargs"}}
        return plain

    def _is_plain_call(self, call: ast.Call) -> bool:
        """Whether a call of a built-in function that may do much does nothing more than it says here."""
        match call.func.id, call.args:  # type: ignore[attr-defined]
            case "type", [_]:
                return not call.keywords
            case "getattr" | "setattr" | "vars", [_, *_]:  # see grader.sandboxed.by_text
                return not any(isinstance(each, ast.Starred) for each in call.args)
        return False

    # --- reasons ---

    def reasons(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the description of each thing that is not on the list."""
        if not self.settled:
            yield 1, "gives modules more names than can be followed"
        for node in self.nodes:
            if node not in self.plain:
                for reason in self._of(node):
                    yield getattr(node, "lineno", 0), reason

    def _of(self, node: ast.AST) -> Iterator[str]:
        hidden = nodes.hides(node, self.parents.get(node, node))
        if hidden:
            yield hidden
        match node:
            case ast.Import(names):
                yield from (
                    f"imports {each.name}" for each in names if not (is_module(each.name) or allowed(each.name))
                )
            case ast.ImportFrom():
                yield from self._of_import(node)
            case ast.Name(name):
                yield from self._of_name(node, name)
            case ast.Attribute():
                yield from self._of_attribute(node)
            case ast.FunctionDef(name) if name.startswith("__") and name not in NAMES["dunder"]:
                yield f"defines {name}"
            case ast.ClassDef():
                yield from self._of_class(node)
            case ast.Call():
                yield from self._of_call(node)
            case ast.Constant(str(text)):
                yield from self._of_text(text)
            case ast.Subscript(owner, name) if self._is_environ(owner):
                yield from texts.of_variable(name)
            case ast.MatchClass(kind, positions, names, _):
                if positions and not self._matches_plainly(kind):
                    yield "matches attributes by position"
                yield from (f"uses .{name}" for name in names if not self._may_use(name))
            case _ if isinstance(node, UNREADABLE):
                yield "uses async"

    def _matches_plainly(self, kind: ast.expr) -> bool:
        """Whether a pattern with positions is that of a class of the script's, or str(name), a built-in one's."""
        name = getattr(kind, "id", "")
        return name in self.own.class_names or (name in MATCHED and name not in self.own.names | self.modules.keys())

    def _of_class(self, node: ast.ClassDef) -> Iterator[str]:
        names = nodes.defined(node.body)
        yield from (f"defines {name} anew" for name in sorted(names & NAMES["state"]))
        variables = names - {part.name for part in nodes.methods(node)}
        private = {name for name in variables & NAMES["fixed"] if name.startswith("_")}
        yield from (f"defines {name} anew" for name in sorted(private))
        yield from self.own.anew(node, names)
        for base in node.bases:
            yield from (f"inherits from {path}" for path in sorted(self.paths(base) & CLOSED))
            made = nodes.last(getattr(base, "func", base)) in MADE
            known = (
                self.paths(base)
                or nodes.root(base) in {each.name for each in self.own.classes} | BUILTIN | self.own.made
            )
            if not made and not (isinstance(base, ast.Name | ast.Attribute) and known):
                yield "inherits from a class that reading cannot follow"

    def _of_text(self, text: str) -> Iterator[str]:
        yield from texts.mentions(text)
        yield from (f"has a text that reads .{name}" for name in texts.read_by(text) if not self._may_use(name))

    def _of_import(self, node: ast.ImportFrom) -> Iterator[str]:
        module = node.module or "."
        if node.level:
            yield f"imports from {'.' * node.level}{node.module or ''}"
            return
        for alias in node.names:
            if alias.name == "*" or not (is_module(f"{module}.{alias.name}") or allowed(f"{module}.{alias.name}")):
                yield f"imports {alias.name} from {module}"

    def _of_name(self, node: ast.Name, name: str) -> Iterator[str]:
        if name.startswith("__") and name not in NAMES["dunder"]:
            yield f"uses {name}"
        elif name == "property" and not self._is_in_class(node):
            yield "makes a property elsewhere than in a class"
        elif name in ("getattr", "setattr", "vars", "type"):
            yield f"uses {name} in a way that reading cannot follow"
        elif name in self.modules:
            paths = self.modules[name]
            if any(is_module(path) for path in paths) and isinstance(node.ctx, ast.Load):
                yield f"hands on {name}, a module"
            elif isinstance(node.ctx, ast.Load):
                yield from self._handed_on(node, paths)
                yield from (f"uses {path}" for path in sorted(paths) if not allowed(path))
        elif name in POWERFUL or (name not in self.own.names and name not in BUILTIN and hasattr(builtins, name)):
            yield f"uses {name}"

    def _is_in_class(self, node: ast.Name) -> bool:
        """Whether a function that makes a property is a decorator, or called for a variable of a class."""
        variable = self.parents.get(self.called.get(node, node))
        return node in self.decorators or (
            isinstance(variable, ast.Assign) and isinstance(self.parents[variable], ast.ClassDef)
        )

    def _handed_on(self, node: ast.AST, paths: set[str]) -> Iterator[str]:
        if node not in self.called and node not in self.aliases:
            decorating = set() if node in self.decorators else DECORATING
            yield from (f"hands on {path}" for path in sorted(paths & (calls.LIMITED | CLOSED | decorating)))

    def _is_unbound(self, node: ast.Attribute) -> bool:
        """Whether a method is taken out of its class, but to be called with self: its object may be any."""
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        method, call = self.own.methods.get((owner, node.attr)), self.called.get(node)
        with_self = call and call.args and call.args[0] in self.own.selves
        decorators = {nodes.last(each) for each in method.decorator_list} if method else set()
        return bool(method and decorators <= PROPERTIES and not with_self)

    def _of_attribute(self, node: ast.Attribute) -> Iterator[str]:
        paths = self.paths(node)
        if isinstance(node.ctx, ast.Load):
            if any(is_module(path) for path in paths) and node not in self.aliases:
                yield f"hands on {ast.unparse(node)}, a module"
            yield from self._handed_on(node, paths)
            if node.attr in PARSERS and node not in self.called:
                yield f"hands on {node.attr}()"
            if self._is_unbound(node):
                yield f"uses {ast.unparse(node)} with an object of any kind"
            for path in sorted(paths):
                known = is_module(path) or allowed(path)
                if not known and not self._holds(path):
                    yield f"uses {path}"
            if paths and nodes.root(node) in self.mixed and not (self._may_use(node.attr) or node.attr[0].isupper()):
                yield f"uses .{node.attr}"
            if not paths and self._stands_for_something(node) and not self._may_use(node.attr, node.value):
                yield f"uses .{node.attr}"
            return
        changed = ast.unparse(node)
        if paths & {"sys.stdout", "sys.stderr"}:  # what ranks print is read behind these
            return
        if (
            paths
            or node.attr in NAMES["fixed"]
            or node.attr.startswith("__")
            or not (self._is_own(node) or node.attr in NAMES["assigned"])
        ):
            yield f"replaces {changed}"

    def _is_own(self, node: ast.Attribute) -> bool:
        """Whether an attribute that is assigned is one of the script's own objects', or of its arguments."""
        owned = node.value in self.own.selves or nodes.root(node) in self.own.arguments
        named = node.attr in self.own.attributes and not node.attr.startswith("_")
        of_object = isinstance(node.value, ast.Name) and node.value.id in self.own.objects
        return owned or (named and (of_object or node.attr not in NAMES["attribute"] | METHODS))

    def _stands_for_something(self, node: ast.Attribute) -> bool:
        """Whether an attribute is not one of an argument of the script's, nor of a name that is defined nowhere."""
        root = nodes.root(node)
        if isinstance(node.value, ast.Name) and root in self.own.arguments:
            return node.attr.startswith("_") or node.attr in NAMES["inside"]
        known = root is None or root in self.own.names or root in self.modules or hasattr(builtins, root)
        return known or node.attr.startswith("_")

    def _holds(self, path: str) -> bool:
        """Whether a path continues, from something in a module that may be used, by attributes that may be."""
        names = path.split(".")
        for end in range(len(names) - 1, 0, -1):
            head = ".".join(names[:end])
            if allowed(head):
                return all(self._may_use(name) for name in names[end:])
        return False

    def _may_use(self, name: str, owner: ast.AST | None = None) -> bool:
        """Whether an attribute of a value may be used, going by its name."""
        if name in NAMES["inside"]:
            return False
        if name.startswith("__"):
            return name in NAMES["dunder"]
        if name.startswith("_"):
            return name in NAMES["private"] or (owner in self.own.selves and name in self.own.private)
        return name in NAMES["attribute"] or name in VALUES or name in self.own.attributes

    def _of_call(self, call: ast.Call) -> Iterator[str]:
        match call.func, call.args:
            case ast.Name("getattr"), [owner, ast.Constant(str(name)), *_]:
                yield from self._of_attribute(ast.Attribute(owner, name, ast.Load()))
            case ast.Attribute(ast.Name("object"), "__setattr__"), [owner, name, _]:
                text = name.value if isinstance(name, ast.Constant) else "__setattr__"
                yield from self._of_attribute(ast.Attribute(owner, str(text), ast.Store()))
            case ast.Attribute(owner, "get" | "setdefault" | "pop"), [first, *_] if self._is_environ(owner):
                yield from texts.of_variable(first)
            case ast.Attribute(owner, "update"), given if self._is_environ(owner):
                names = [key for each in given for key in (each.keys if isinstance(each, ast.Dict) else [each])]
                names += [ast.Constant(word.arg) if word.arg else word.value for word in call.keywords]
                for variable in names:
                    yield from texts.of_variable(variable or call)
        yield from calls.lets_in(call, self.paths, self.parents)

    def _is_environ(self, node: ast.expr) -> bool:
        return "os.environ" in self.paths(node)
