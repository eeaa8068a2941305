"""What an instructor may want to look at in a script. A remark changes no status, points or exit code.

The list is short and is no protection: see docs/security.md.
"""

import ast
from collections.abc import Iterator

from grader.terms.report import Remark

MODULES = {
    **dict.fromkeys(("ctypes", "cffi"), "calls C code"),
    **dict.fromkeys(("socketserver", "http", "urllib", "requests"), "uses the network"),
    **dict.fromkeys(("ptrace", "resource"), "changes how processes run"),
    "grader": "imports the judge's own code",
}
CALLS = {
    **dict.fromkeys(("eval", "exec", "compile", "__import__"), "runs text as code"),
    **dict.fromkeys(("os.kill", "os.killpg", "os.getppid", "signal.pidfd_send_signal"), "signals other processes"),
    **dict.fromkeys(("os.fork", "os.forkpty", "os.setsid", "os._exit"), "starts or ends processes of its own"),
    **dict.fromkeys(
        ("sys._getframe", "sys._current_frames", "sys.settrace", "sys.setprofile"), "looks at stack frames"
    ),
    **dict.fromkeys(("sys.addaudithook", "gc.get_objects", "gc.get_referrers"), "looks at other code's objects"),
}
TEXTS = {
    **dict.fromkeys(("/proc/", "/sys/"), "reads what the system shows of processes"),
    **dict.fromkeys(("_after_step_", "_solution.py", "grader/"), "names a file of the course"),
    **dict.fromkeys(("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"), "names a variable that the launcher sets"),
}
LIBRARIES = "hvd", "tf", "horovod", "tensorflow", "keras", "json", "np", "numpy", "pickle"  # whose functions stay
MOST = 20  # remarks on a script


def of(tree: ast.Module) -> list[Remark]:
    """Return the remarks on a script, in the order of its lines."""
    found = {(node.lineno, text) for node in ast.walk(tree) if hasattr(node, "lineno") for text in _remarks(node)}
    return [Remark(line, text) for line, text in sorted(found)][:MOST]


def _remarks(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import() | ast.ImportFrom():
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            for name in names:
                if why := MODULES.get(name.partition(".")[0]):
                    yield f"imports {name}: {why}"
        case ast.Call(func) if why := CALLS.get(ast.unparse(func)):
            yield f"calls {ast.unparse(func)}: {why}"
        case ast.Constant(str(text)):
            yield from (f"mentions {word}: {why}" for word, why in TEXTS.items() if word in text)
        case ast.Assign(targets):
            for target in targets:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value).partition(".")[0] in LIBRARIES:
                    yield f"replaces {ast.unparse(target)}: changes a library"
