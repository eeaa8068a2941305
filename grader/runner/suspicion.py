"""What has no business in a script: ways to the interpreter's inside, to other processes and to the judge's own files.

A submission runs in one process with the recorder, and code that went looking could find the recorder. So what such a
search needs is pointed out, for a person to look at, whatever the facts say. What training scripts have honest use
for in the standard library is not pointed out.
"""

import ast
from collections.abc import Iterator

MODULES = {
    *("__future__", "abc", "argparse", "atexit", "base64", "bisect", "calendar", "collections", "concurrent"),
    *("contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "enum", "errno", "fnmatch", "fractions"),
    *("functools", "getpass", "glob", "gzip", "hashlib", "heapq", "io", "itertools", "json", "locale", "logging"),
    *("math", "numbers", "operator", "os", "pathlib", "pickle", "platform", "pprint", "queue", "random", "re"),
    *("secrets", "shlex", "shutil", "signal", "socket", "statistics", "stat", "string", "struct", "sys", "tarfile"),
    *("tempfile", "textwrap", "threading", "time", "timeit", "tomllib", "traceback", "types", "typing", "unicodedata"),
    *("uuid", "warnings", "zipfile", "zlib"),
    *("PIL", "course", "fsspec", "h5py", "horovod", "keras", "numpy", "tensorflow", "tqdm", "yaml"),
}

# All that is plain in modules which hold more than that.
PLAIN = {
    "data": {"load", "SHIPPED", "CLASSES", "DataError"},  # of course
    "platform": {"machine", "node", "platform", "processor", "python_version", "release", "system"},
    "socket": {"gethostname", "getfqdn"},
    "string": {"Template", "ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits", "punctuation"},
    "sys": {
        *("argv", "byteorder", "exc_info", "executable", "exit", "float_info", "getsizeof", "maxsize", "path"),
        *("platform", "stderr", "stdin", "stdout", "version", "version_info"),
    },
    "types": {"SimpleNamespace", "MappingProxyType"},
}

# Attributes and functions that lead to the interpreter's inside, to other processes or to open files by their numbers.
INSIDE = {
    *("addaudithook", "attrgetter", "builtins", "ctypes", "currentframe", "dup", "dup2", "f_back", "f_builtins"),
    *("f_code", "f_globals", "f_locals", "fork", "forkpty", "gc", "getpgid", "gi_frame", "importlib", "inspect"),
    *("kill", "killpg", "memfd_create", "meta_path", "methodcaller", "modules", "open_code", "openpty", "pidfd_open"),
    *("pipe", "pipe2", "popen", "posix_spawn", "posix_spawnp", "pthread_kill", "ptrace", "putenv", "pwrite"),
    *("pwritev", "py_function", "raise_signal", "register_at_fork", "sendfile", "setns", "setprofile", "settrace"),
    *("splice", "subprocess", "system", "tb_frame", "unsetenv", "unshare", "walk_stack", "walk_tb", "writev"),
    *("ProcessPoolExecutor", "gi_code", "cr_frame", "ag_frame", "extract_stack", "sys"),
}
OF_OS = "exec", "spawn"  # what functions of os that start another program begin with
NAMES = {
    *("__builtins__", "__import__", "__loader__", "__spec__", "breakpoint", "compile", "delattr", "eval", "exec"),
    *("globals", "locals", "memoryview", "setattr", "vars"),
}
PRIVATE = {
    *("_asdict", "_exit", "_fields", "_replace"),  # public, by the documentation of namedtuple and os
    *("_get_batches_of_transformed_samples", "_set_index_array"),  # what iterators over images are made to override
}
DUNDERS = {
    *("__init__", "__name__", "__main__", "__file__", "__doc__", "__version__", "__call__", "__all__", "__author__"),
    *("__copyright__", "__date__", "__email__", "__license__", "__maintainer__", "__status__", "__post_init__"),
    *("__enter__", "__exit__", "__len__", "__getitem__", "__setitem__", "__contains__", "__iter__", "__next__"),
    *("__repr__", "__str__", "__eq__", "__hash__", "__slots__", "__debug__", "__missing__"),
}

# Environment variables that say which rank a process is, or how the interpreter starts.
VARIABLES = (
    *("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL", "HOROVOD_CROSS", "HOROVOD_GLOO", "HOROVOD_CONTROLLER"),
    *("HOROVOD_CPU", "HOROVOD_HOSTNAME", "COURSE_RECORD", "LD_", "PYTHON"),
)
KNOWN_VARIABLES = ("PYTHONHASHSEED", "PYTHONUNBUFFERED")
WORDS = ("/proc", "/dev/", "grader", "solutions/", "_after_step_", "_solution.py", *VARIABLES[:3])
PLAIN_PATHS = ("/dev/null", "/dev/shm")


def found(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the line and the description of each thing in a script that a person has to look at."""
    modules, arguments = _module_names(tree), _parsed_arguments(tree)
    modules |= _aliases(tree, modules)
    plain = _plain_nodes(tree, arguments)
    reasons = set()
    for node in ast.walk(tree):
        if node not in plain:
            reasons |= {(getattr(node, "lineno", 0), reason) for reason in _reasons(node, modules, arguments)}
    return sorted(reasons)


def _plain_nodes(tree: ast.Module, arguments: set[str]) -> set[ast.AST]:
    """Return the functions vars and setattr where they are called for the parsed arguments."""
    return {
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("vars", "setattr")
        if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in arguments
    }


def _module_names(tree: ast.Module) -> dict[str, str]:
    """Return what modules, and what is imported from them, are called in the script, and their own last names."""
    return {
        (alias.asname or alias.name).split(".")[0]: alias.name.split(".")[-1 if alias.asname else 0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def _aliases(tree: ast.Module, modules: dict[str, str]) -> dict[str, str]:
    """Return names that a script gives to what is in a module, such as ways = tf.distribute.experimental."""
    return {
        target.id: node.value.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and _root(node.value) in modules
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _parsed_arguments(tree: ast.Module) -> set[str]:
    """Return the names that hold what argparse returned."""
    return {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Attribute) and node.value.func.attr == "parse_args"
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _reasons(node: ast.AST, modules: dict[str, str], arguments: set[str]) -> Iterator[str]:
    """Yield what is suspicious about a node, in words."""
    match node:
        case ast.Import(names):
            yield from (f"imports {alias.name}" for alias in names if not _is_plain_module(alias.name))
        case ast.ImportFrom():
            yield from _import_reasons(node)
        case ast.Call():
            yield from _call_reasons(node, modules, arguments)
        case ast.Name(name) if name in NAMES or (name.startswith("__") and name not in DUNDERS):
            yield f"uses {name}"
        case ast.Attribute():
            yield from _attribute_reasons(node, modules)
        case ast.Constant(str(text)) if not _is_prose(text):
            yield from (f"mentions {word}" for word in WORDS if word in _without_plain_paths(text))
        case ast.Subscript(owner, name) if _is_environ(owner):
            yield from _variable_reasons(name)


def _is_plain_module(name: str) -> bool:
    return name.split(".")[0] in MODULES and not INSIDE & set(name.split(".")[1:])


def _without_plain_paths(text: str) -> str:
    for path in PLAIN_PATHS:
        text = text.replace(path, "")
    return text


def _is_prose(text: str) -> bool:
    return len(text.split()) > 8


def _import_reasons(node: ast.ImportFrom) -> Iterator[str]:
    module = node.module or "."
    if node.level or not _is_plain_module(module):
        yield f"imports from {module}"
    for alias in node.names:
        outside = module.split(".")[-1] in PLAIN and alias.name not in PLAIN[module.split(".")[-1]]
        inside = alias.name in INSIDE | NAMES | {"*"} or (module == "os" and alias.name.startswith(OF_OS))
        if outside or inside or (module == "os" and alias.name == "write"):
            yield f"imports {alias.name} from {module}"


def _call_reasons(node: ast.Call, modules: dict[str, str], arguments: set[str]) -> Iterator[str]:
    match node.func, node.args:
        case ast.Name("getattr"), [owner, ast.Constant(str(name)), *_]:
            yield from _attribute_reasons(ast.Attribute(owner, name, ast.Load()), modules)
        case ast.Name("getattr"), [owner, ast.Attribute(ast.Name(name)), *_] if name in arguments and (
            _root(owner) in {*modules, *arguments}
        ):
            pass
        case ast.Name("getattr"), _:
            yield "uses getattr with a computed name"
        case ast.Attribute(owner, "get" | "setdefault" | "pop"), [first, *_] if _is_environ(owner):
            yield from _variable_reasons(first)


def _is_environ(node: ast.expr) -> bool:
    return "environ" in (getattr(node, "attr", None), getattr(node, "id", None))


def _root(node: ast.expr) -> str | None:
    """Return the name that a dotted path begins with; None for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _attribute_reasons(node: ast.Attribute, modules: dict[str, str]) -> Iterator[str]:
    owner = node.value.id if isinstance(node.value, ast.Name) else None
    module = modules.get(owner or "")
    if module in PLAIN:
        if node.attr not in PLAIN[module]:
            yield f"uses {module}.{node.attr}"
    elif node.attr in INSIDE or (module == "os" and (node.attr == "write" or node.attr.startswith(OF_OS))):
        yield f"uses .{node.attr}"
    elif node.attr.startswith("_") and node.attr not in DUNDERS | PRIVATE and owner not in ("self", "cls"):
        yield f"uses the private .{node.attr}"
    if isinstance(node.ctx, ast.Store | ast.Del) and _root(node) in modules:
        replaced = ast.unparse(node)
        if replaced not in ("sys.stdout", "sys.stderr"):  # what ranks print is read behind these
            yield f"replaces {replaced}"


def _variable_reasons(name: ast.expr) -> Iterator[str]:
    known = isinstance(name, ast.Constant) and str(name.value) in KNOWN_VARIABLES
    if not isinstance(name, ast.Constant) or (str(name.value).startswith(VARIABLES) and not known):
        yield f"touches the environment variable {ast.unparse(name)}"
