"""Read a script without running it: whether it parses, and where things are in it."""

import ast
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from grader.reading import remarks
from grader.terms.report import Remark, Report

# PEP 263's comment in one of the first two lines, for the one other encoding that is common in old editors.
DECLARED = re.compile(rb"(?:[ \t\f]*(?:#.*)?\r?\n)?[ \t\f]*#.*?coding[:=][ \t]*(?:latin-?1|iso-?8859-1)\b", re.I)
LARGEST = 64_000  # bytes of a script: some four times those of the course's longest
WORKS = "fit", "evaluate", "SidecarEvaluator"  # a lesson's program uses one of these
LONGEST_LINE = 100  # characters of a line that a message shows
DEEPEST = 100  # parts of a script within each other


class UnreadableError(Exception):
    """There is no file to read; the message says why."""


class NoScriptError(Exception):
    """The file is not the learner's program; the message says what it is, and line, if any, where that shows."""

    def __init__(self, message: str, line: int | None = None):
        """Say what the file is."""
        super().__init__(message)
        self.line = line


class Enclosed(NamedTuple):
    """A program that is in a file of answers, and the step that judges it."""

    step: int
    name: str
    text: str


@dataclass
class Source:
    """A script's text, parsed."""

    text: str
    tree: ast.Module
    remarks: list[Remark] = field(default_factory=list)
    enclosed: Report | None = None  # on the program in it

    def line_of(self, *names: str) -> int | None:
        """Return the first line where one of these is assigned, called, a keyword or defined, in the order given."""
        for name in names:
            nodes = (node for node in ast.walk(self.tree) if _names(node, name))
            first = min(nodes, key=lambda node: isinstance(node, ast.FunctionDef), default=None)
            if first:
                return int(getattr(first, "lineno", 0) or first.value.lineno)  # type: ignore[attr-defined]
        return None

    def keyword(self, name: str, line: int | None) -> ast.expr | None:
        """Return what a call that begins on this line is given by this keyword."""
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and node.lineno == line]
        return next((word.value for call in calls for word in call.keywords if word.arg == name), None)

    def raises(self, name: str | None, line: int | None) -> bool:
        """Return whether a statement on this line raises an exception of this name, as an assertion does, too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Raise | ast.Assert) and node.lineno <= (line or 0) <= (node.end_lineno or 0):
                raised = node.exc if isinstance(node, ast.Raise) else ast.Name("AssertionError")
                raised = raised.func if isinstance(raised, ast.Call) else raised
                if raised and _last(raised) == name:
                    return True
        return False

    def calls(self, name: str) -> bool:
        """Return whether the script calls something of this name anywhere."""
        return any(isinstance(node, ast.Call) and _last(node.func) == name for node in ast.walk(self.tree))

    def mentions(self, name: str) -> bool:
        """Return whether something of this name is called, imported, inherited from or looked up anywhere."""
        of = "name", "attr", "id", "value"  # of an import, an attribute, a variable and a text
        return any(name in (getattr(node, field, None) for field in of) for node in ast.walk(self.tree))


def _last(node: ast.AST) -> str | None:
    """Return the last name in a dotted one."""
    return getattr(node, "attr", None) or getattr(node, "id", None)


def _names(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name == name
    if isinstance(node, ast.Call):
        return _last(node.func) == name
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
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise UnreadableError("it is not a regular file")
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise UnreadableError(error.strerror or error) from None
    if raw.lstrip()[:1] == b"{" and b'"cell_type"' in raw:
        raise NoScriptError(
            "The file is a notebook, not a script. Hand in the script that the notebook puts next to it."
        )
    if len(raw) > LARGEST:
        raise NoScriptError(f"The file is larger than {LARGEST // 1000} kB. A script is not.")
    if b"\0" in raw:
        encoding = json.detect_encoding(raw)
        if "".join(raw.decode(encoding, errors="ignore").split()).isprintable():
            raise NoScriptError(f"The file is text in {encoding.upper()}, which nothing runs. Save it as UTF-8.")
        raise NoScriptError("The file is binary, not a script.")
    declared = DECLARED.match(raw)
    try:
        text = raw.decode("latin-1" if declared else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise NoScriptError(f"The file is not UTF-8 text: see line {line}. Save it as UTF-8.") from None
    if not text.strip():
        raise NoScriptError("The file is empty.")
    return text


def read(text: str) -> Source:
    """Parse a script.

    Raises:
        NoScriptError: it is not Python.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = f"The file is not valid Python: {getattr(error, 'msg', None) or error}."
        line = (getattr(error, "text", None) or "").strip()  # without it, "invalid syntax" says little
        message += f" The line: {line[:LONGEST_LINE]}" if line else ""
        raise NoScriptError(message, getattr(error, "lineno", None)) from None
    if _is_deep(tree):
        raise NoScriptError(f"The file has expressions or blocks nested more than {DEEPEST} deep. A script has not.")
    return Source(text, tree, remarks.of(tree))


def read_training(text: str) -> Source:
    """Parse a script that trains or evaluates a model by Keras' functions, as most lessons' programs do.

    Raises:
        NoScriptError: it is not Python, or calls none of these functions.
    """
    source = read(text)
    if not any(map(source.mentions, WORKS)):
        raise NoScriptError("The script never calls model.fit: is it another file?")
    return source


def _is_deep(tree: ast.Module) -> bool:
    """Return whether parts of a script are nested as no script's are, which would take reading long."""
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True
