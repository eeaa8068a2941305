"""Read a script without running it: whether it parses, where things are, and what has no business in it.

A submission is a small edit of a known program. It runs in one process with the recorder, and code that went looking
could find the recorder. So what such a search needs is pointed out here, for a person to look at, whatever the facts
say.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LARGEST = 200_000  # bytes of a script

IMPORTS = {
    "__future__", "argparse", "collections", "contextlib", "course", "dataclasses", "datetime", "functools", "horovod",
    "itertools", "keras", "logging", "math", "numpy", "os", "pathlib", "random", "sys", "tensorflow", "time", "typing",
    "warnings",
}  # fmt: skip

# Attributes that lead from the modules above to the interpreter's inside, other files or other processes.
ATTRIBUTES = {
    "addaudithook", "builtins", "ctypes", "dup2", "f_back", "fdopen", "fork", "forkpty", "gc", "glob", "importlib",
    "inspect", "iterdir", "kill", "killpg", "listdir", "meta_path", "modules", "popen", "putenv", "py_function",
    "read_bytes", "read_text", "rglob", "scandir", "setprofile", "settrace", "subprocess", "system", "walk",
    "write_bytes", "write_text",
}  # fmt: skip
NAMES = {
    "eval", "exec", "compile", "__import__", "globals", "locals", "vars", "setattr", "delattr", "open", "breakpoint",
    "memoryview", "__builtins__", "__loader__", "__spec__",
}  # fmt: skip
OF_SYS_AND_OS = {
    "sys": {"argv", "exit", "stdout", "stderr", "version", "version_info", "path", "platform", "maxsize"},
    "os": {"environ", "getenv", "path", "makedirs", "getpid", "cpu_count", "sep", "linesep", "name", "_exit", "getcwd"},
    "data": {"load", "SHIPPED", "CLASSES", "DataError"},
}
# What the programs of the later parts have business with, since they copy files, write checkpoints and list images.
FILES = frozenset(
    [f"imports {name}" for name in ("fsspec", "glob", "h5py", "io", "json", "pickle", "shutil", "tempfile", "tqdm")]
    + [
        f"imports from {name}"
        for name in ("fsspec", "glob", "io", "pathlib", "shutil", "tempfile", "tqdm", "concurrent")
    ]
    + [f"imports {name} from os" for name in ("replace", "rename", "listdir", "walk", "remove")]
    + [f"uses .{name}" for name in ("glob", "iterdir", "listdir", "read_bytes", "read_text", "rglob", "walk")]
    + [f"uses .{name}" for name in ("write_bytes", "write_text", "fdopen")]
    + [f"uses os.{name}" for name in ("fsync", "link", "listdir", "mkdir", "remove", "rename", "replace", "rmdir")]
    + [f"uses os.{name}" for name in ("scandir", "stat", "unlink", "walk")]
    + [f"uses the private .{name}" for name in ("_get_batches_of_transformed_samples", "_set_index_array")]
    + ["uses open"]
)

VARIABLES = (
    *("CUDA_", "TF_", "OMP_", "KMP_", "XLA_", "NCCL_", "TQDM_"),
    *("PYTHONHASHSEED", "HOROVOD_TIMELINE", "OMPI_COMM_WORLD_"),
)
WORDS = ("/proc", "/dev/", "grader", "solutions/", "_after_step_", "_solution.py", "HOROVOD_RANK", "../")
DUNDERS = {"__init__", "__name__", "__main__", "__file__", "__doc__", "__version__", "__call__"}


class UnreadableError(Exception):
    """There is no file to read; the message says why."""


class NoScriptError(Exception):
    """The file is not the learner's program; the message says what it is, and line, if any, where that shows."""

    def __init__(self, message: str, line: int | None = None):
        """Say what the file is."""
        super().__init__(message)
        self.line = line


@dataclass
class Source:
    """A script's text, and what reading it tells."""

    text: str
    tree: ast.Module
    suspicious: list[tuple[int, str]] = field(default_factory=list)  # line, what is there

    def line_of(self, *names: str) -> int | None:
        """Return the first line where one of these is assigned, called, a keyword or a key, in the order given."""
        for name in names:
            for node in ast.walk(self.tree):
                if _names(node, name):
                    return int(getattr(node, "lineno", 0) or node.value.lineno)  # type: ignore[attr-defined]
        return None

    def keyword(self, name: str, line: int | None) -> ast.expr | None:
        """Return what a call that begins on this line is given by this keyword."""
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and node.lineno == line]
        return next((word.value for call in calls for word in call.keywords if word.arg == name), None)

    def calls(self, name: str) -> bool:
        """Return whether the script calls something of this name anywhere."""
        return any(isinstance(node, ast.Call) and _called(node.func) == name for node in ast.walk(self.tree))


def _called(function: ast.expr) -> str | None:
    return getattr(function, "attr", None) or getattr(function, "id", None)


def _names(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call):
        return _called(node.func) == name
    if isinstance(node, ast.keyword):
        return node.arg == name
    if isinstance(node, ast.Constant):
        return node.value == name and name.isupper()  # an environment variable's
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def load(path: Path) -> str:
    """Return a script's text.

    Raises:
        UnreadableError: there is no such file to read.
        NoScriptError: it is no script.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise UnreadableError(error.strerror or error) from None
    if len(raw) > LARGEST:
        raise NoScriptError(f"The file is larger than {LARGEST // 1000} kB. A script is not.")
    if b"\0" in raw:
        raise NoScriptError("The file is binary, not a Python script.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise NoScriptError(f"The file is not UTF-8 text: see line {line}. Save it as UTF-8.") from None
    if not text.strip():
        raise NoScriptError("The file is empty.")
    return text


def read(text: str, allowed: frozenset[str] = frozenset()) -> Source:
    """Parse a script and look through it.

    Args:
        text: the script.
        allowed: what would be suspicious elsewhere, in the words of _reasons().

    Raises:
        NoScriptError: it is not Python.
    """
    try:
        source = Source(text, ast.parse(text))
        modules = _module_names(source.tree)
        allowed |= {"replaces sys.stdout", "replaces sys.stderr"}  # what ranks print is read behind these
        silencing = _null_devices(source.tree)
        for node in set(ast.walk(source.tree)) - silencing:
            for reason in set(_reasons(node, modules)) - allowed:
                source.suspicious.append((getattr(node, "lineno", 0), reason))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = f"The file is not valid Python: {getattr(error, 'msg', None) or error}."
        raise NoScriptError(message, getattr(error, "lineno", None)) from None
    source.suspicious.sort()
    return source


def _null_devices(tree: ast.Module) -> set[ast.AST]:
    """Return the "open" and the path of each call that opens the null device, as scripts do to silence a rank."""
    nodes = list(ast.walk(tree))
    os_is_another = any(
        "os" in (getattr(node, "asname", None), getattr(node, "arg", None), getattr(node, "rest", None))
        or (getattr(node, "name", None) == "os" and not isinstance(node, ast.alias))
        or (isinstance(node, ast.Name) and node.id == "os" and not isinstance(node.ctx, ast.Load))
        for node in nodes
    )
    plain = {"open('/dev/null', 'w')", *([] if os_is_another else ["open(os.devnull, 'w')"])}
    calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node) in plain]
    return {part for call in calls for part in (call.func, call.args[0])}


def _module_names(tree: ast.Module) -> set[str]:
    """Return the names that modules, and what is imported from them, go by in the script."""
    return {
        (alias.asname or alias.name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def _reasons(node: ast.AST, modules: set[str]) -> Iterator[str]:
    """Yield what is suspicious about a node, in words."""
    match node:
        case ast.Import(names):
            yield from (f"imports {alias.name}" for alias in names if alias.name.split(".")[0] not in IMPORTS)
        case ast.ImportFrom():
            yield from _import_reasons(node)
        case ast.Name(name):
            if name in NAMES or (name.startswith("__") and name not in DUNDERS):
                yield f"uses {name}"
        case ast.Attribute():
            yield from _attribute_reasons(node, modules)
        case ast.Constant(str(text)) if not _is_prose(text):
            yield from (f"mentions {word}" for word in WORDS if word in text)
        case ast.Subscript(ast.Attribute(attr="environ"), name):
            yield from _variable_reasons(name)
        case ast.Call():
            yield from _call_reasons(node)


def _is_prose(text: str) -> bool:
    return len(text.split()) > 8


def _import_reasons(node: ast.ImportFrom) -> Iterator[str]:
    package = (node.module or "").split(".")[0]
    if package not in IMPORTS or node.level:
        yield f"imports from {node.module or '.'}"
    for alias in node.names:
        outside = package in OF_SYS_AND_OS and alias.name not in OF_SYS_AND_OS[package]
        if outside or alias.name in ATTRIBUTES | NAMES | {"environ", "*"}:
            yield f"imports {alias.name} from {node.module}"


def _call_reasons(node: ast.Call) -> Iterator[str]:
    match node.func:
        case ast.Name("getattr") if not (node.args[1:] and isinstance(node.args[1], ast.Constant)):
            yield "uses getattr with a computed name"
        case ast.Attribute(ast.Attribute(attr="environ")) | ast.Subscript(ast.Attribute(attr="environ")) if node.args:
            yield from _variable_reasons(node.args[0])


def _attribute_reasons(node: ast.Attribute, modules: set[str]) -> Iterator[str]:
    owner = node.value.id if isinstance(node.value, ast.Name) else None
    if owner in OF_SYS_AND_OS and owner in modules:
        if node.attr not in OF_SYS_AND_OS[owner]:
            yield f"uses {owner}.{node.attr}"
    elif node.attr in ATTRIBUTES:
        yield f"uses .{node.attr}"
    elif node.attr.startswith("_") and node.attr not in DUNDERS and owner not in ("self", "cls"):
        yield f"uses the private .{node.attr}"
    if isinstance(node.ctx, ast.Store | ast.Del):
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in modules:
            yield f"replaces {ast.unparse(node)}"


def _variable_reasons(name: ast.expr) -> Iterator[str]:
    if not isinstance(name, ast.Constant) or not str(name.value).startswith(VARIABLES):
        yield f"touches the environment variable {ast.unparse(name)}"
