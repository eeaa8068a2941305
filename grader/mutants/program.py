"""A solution as the mutators see it: its text, its syntax tree, and the lines that the step adds or changes.

A mutator asks for the nodes and statements on these lines, and replaces them in the text, so that comments and
formatting stay.
"""

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import TypeVar

from course.steps import Step

Block = list[ast.stmt]
Node = TypeVar("Node", bound=ast.expr)
MESSAGES = "print", "SystemExit"  # a person reads what these calls print: no judge compares it
DOCUMENTATION = "help", "description"  # and these arguments
COMPOUND = ast.If | ast.With | ast.For | ast.While | ast.Try
DEFINITION = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Edit:
    """One change of a program."""

    line: int  # of the solution
    before: str  # the lines that change, without line breaks
    after: str  # what they become, or in parentheses what happens to them
    text: str  # the whole changed program


def changed_lines(before: str, after: str) -> set[int]:
    """Return the numbers of the lines of a text that another text lacks."""
    codes = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).get_opcodes()
    return {line + 1 for code, _, _, first, end in codes if code != "equal" for line in range(first, end)}


class Program:
    """The solution of a step."""

    def __init__(self, text: str, changed: set[int]):
        """Read a program.

        Args:
            text: its source.
            changed: the numbers of the lines to mutate.
        """
        self.text, self.changed = text, changed
        self.lines = text.splitlines(keepends=True)
        self.tree = ast.parse(text)

    @classmethod
    def of(cls, step: Step) -> "Program":
        """Return the solution of a step, to be mutated where the step changes it."""
        text = step.solution.read_text()
        return cls(text, changed_lines(step.starter.read_text(), text))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node that each node belongs to."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def is_module(self, node: ast.expr) -> bool:
        """Whether an expression names an imported module, or one within it."""
        imported = {
            (alias.asname or alias.name).partition(".")[0]
            for each in ast.walk(self.tree)
            if isinstance(each, ast.Import | ast.ImportFrom)
            for alias in each.names
        }
        return re.match(r"[\w.]+$", self.source(node)) is not None and self.source(node).partition(".")[0] in imported

    # --- expressions -------------------------------------------------------------------------------------------------

    def expressions(self, *kinds: type[Node]) -> Iterator[Node]:
        """Yield the expressions of these kinds that begin on a changed line and are not part of a message."""
        for node in ast.walk(self.tree):
            if isinstance(node, kinds) and node.lineno in self.changed and not self._speaks(node):
                yield node

    def _speaks(self, node: ast.AST) -> bool:
        """Whether an expression is part of a message, a docstring or a formatted string, whose positions are vague."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            return True
        while node in self.parents:
            parent = self.parents[node]
            if isinstance(parent, ast.JoinedStr) or (isinstance(parent, ast.Expr) and isinstance(node, ast.Constant)):
                return True
            if isinstance(parent, ast.Call) and ast.unparse(parent.func) in MESSAGES and node is not parent.func:
                return True
            if isinstance(node, ast.keyword) and node.arg in DOCUMENTATION:
                return True
            node = parent
        return False

    def offset(self, line: int, column: int) -> int:
        """Return where a place is in the text; columns count bytes."""
        text = self.lines[line - 1].encode()[:column].decode()
        return sum(map(len, self.lines[: line - 1])) + len(text)

    def start(self, node: ast.expr | ast.keyword) -> int:
        """Return where a node begins in the text."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.keyword) -> int:
        """Return where a node ends in the text."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def source(self, node: ast.expr | ast.keyword) -> str:
        """Return the source of a node."""
        return self.text[self.start(node) : self.end(node)]

    def swap(self, start: int, end: int, new: str) -> Edit:
        """Replace the text from start to end."""
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", max(start, end - 1))
        before, after = self.text[first:last], self.text[first:start] + new + self.text[end:last]
        line = self.text.count("\n", 0, start) + 1
        return Edit(line, _one_line(before), _one_line(after), self.text[:start] + new + self.text[end:])

    def replace(self, node: ast.expr, new: str) -> Edit:
        """Replace an expression."""
        return self.swap(self.start(node), self.end(node), new)

    def names(self, pattern: Callable[[str], Iterator[tuple[int, int, str]]]) -> Iterator[Edit]:
        """Replace pieces of changed lines: pattern yields the start and end of a piece, and a text to go there."""
        for number in sorted(self.changed):
            line = self.lines[number - 1]
            code, begin = line.partition("#")[0], self.offset(number, 0)
            texts = *(f"{word}(" for word in MESSAGES), *(f"{word}=" for word in DOCUMENTATION), '"""'
            if any(text in code for text in texts):
                continue
            for start, end, new in pattern(code):
                yield self.swap(begin + start, begin + end, new)

    # --- statements --------------------------------------------------------------------------------------------------

    def blocks(self) -> Iterator[tuple[ast.AST, Block]]:
        """Yield each list of statements with the node that it belongs to."""
        for node in ast.walk(self.tree):
            for field in ("body", "orelse", "finalbody"):
                block = getattr(node, field, None)
                if isinstance(block, list) and block:
                    yield node, block

    def statements(self) -> Iterator[tuple[ast.AST, Block, int]]:
        """Yield each statement on changed lines as its block's owner, its block and its place there."""
        for owner, block in self.blocks():
            for place, statement in enumerate(block):
                if self._lines_of(statement) <= self.changed and not is_text(statement):
                    yield owner, block, place

    def _lines_of(self, statement: ast.stmt) -> set[int]:
        """Return the lines of a statement that hold code."""
        lines = range(self.first(statement), self.last(statement) + 1)
        return {line for line in lines if self.lines[line - 1].strip() and self.lines[line - 1].strip()[0] != "#"}

    def first(self, statement: ast.stmt) -> int:
        """Return the first line of a statement."""
        return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])

    def last(self, statement: ast.stmt) -> int:
        """Return the last line of a statement."""
        assert statement.end_lineno is not None
        return statement.end_lineno

    def piece(self, statement: ast.stmt) -> str:
        """Return the lines of a statement."""
        return "".join(self.lines[self.first(statement) - 1 : self.last(statement)])

    def head(self, statement: ast.stmt) -> str:
        """Return the first line of a statement."""
        return _one_line(self.piece(statement).partition("\n")[0])

    def rewrite(self, statement: ast.stmt, new: str, after: str) -> Edit:
        """Replace the lines of a statement."""
        return self.rewrite_lines({statement: new}, statement, after)

    def rewrite_lines(self, new: dict[ast.stmt, str], statement: ast.stmt, after: str) -> Edit:
        """Replace the lines of several statements, none of which is part of another.

        Args:
            new: the new lines of each.
            statement: the one that the change is about.
            after: what happens to it.
        """
        lines = list(self.lines)
        for each in sorted(new, key=self.first, reverse=True):
            lines[self.first(each) - 1 : self.last(each)] = [new[each]]
        return Edit(self.first(statement), self.head(statement), after, "".join(lines))


def indented(text: str, by: int) -> str:
    """Return lines indented by so many columns more, or fewer where it is negative."""
    return textwrap.indent(textwrap.dedent(text), " " * (len(text) - len(text.lstrip(" ")) + by))


def _one_line(text: str) -> str:
    """Return code without comments and line breaks."""
    return " ".join(" ".join(re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines()).split())


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, or prints something."""
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and ast.unparse(value.func) == "print")
