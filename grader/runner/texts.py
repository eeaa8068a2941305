"""Find texts that need manual review: names of the judge's files and variables, and formats that read attributes."""

import ast
import re
import string
from collections.abc import Iterator

SHORT = 8  # words of a text that may be a name or a path; a longer one is prose
# Environment variables that set the rank of a process, or how the interpreter starts; and files of the judge's.
VARIABLES = (
    *("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL", "HOROVOD_CROSS", "HOROVOD_GLOO", "HOROVOD_CONTROLLER"),
    *("HOROVOD_CPU", "HOROVOD_HOSTNAME", "COURSE_RECORD", "LD_", "PYTHON"),
)
KNOWN_VARIABLES = ("PYTHONHASHSEED", "PYTHONUNBUFFERED")
WORDS = ("/proc", "/dev/", "grader", "solutions/", "_after_step_", "_solution.py", *VARIABLES[:3])
PLAIN_PATHS = ("/dev/null", "/dev/shm")
INTO_PRIVATE = re.compile(r"\{[^{}:]*[.\[]_|\.__\w+__")  # a format that reads private attributes, or a part of one


def mentions(text: str) -> Iterator[str]:
    """Yield what a text names that is none of a training script's business."""
    if len(text.split()) <= SHORT:
        yield from (f"mentions {word}" for word in WORDS if word in _without_plain_paths(text))
        if INTO_PRIVATE.search(text):
            yield "has a text that reads private attributes"


def read_by(text: str) -> Iterator[str]:
    """Yield the attributes that a text reads if it is a format, as "{0.shape}" does."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:  # it is none
        return
    for _, field, specification, _ in parts:
        # As in the interpreter: a name, and then attributes after points and keys in brackets.
        outside = "".join(part.partition("]")[2] if at else part for at, part in enumerate((field or "").split("[")))
        yield from outside.split(".")[1:]
        yield from read_by(specification or "")


def of_variable(name: ast.expr) -> Iterator[str]:
    """Yield the environment variable of this name, unless a script may use it."""
    known = isinstance(name, ast.Constant) and str(name.value) in KNOWN_VARIABLES
    if not isinstance(name, ast.Constant) or (str(name.value).startswith(VARIABLES) and not known):
        yield f"touches the environment variable {ast.unparse(name)}"


def _without_plain_paths(text: str) -> str:
    for path in PLAIN_PATHS:
        text = text.replace(path, "")
    return text
