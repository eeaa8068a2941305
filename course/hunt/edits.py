"""The difference between two programs, as edits that a file of answers can hold."""

import difflib
from collections.abc import Sequence

from msgspec import Struct


class Edit(Struct, forbid_unknown_fields=True):
    """Lines that take the place of others.

    Attributes:
        first, last: the lines that go, counted from 1; none, if last is the line before first.
        lines: that come.
    """

    first: int
    last: int
    lines: list[str]


def between(before: str, after: str) -> list[Edit]:
    """Return the edits that make one program of the other."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    codes = matcher.get_opcodes()
    return [Edit(first + 1, last, new[start:end]) for kind, first, last, start, end in codes if kind != "equal"]


def applied(before: str, edits: Sequence[Edit]) -> str:
    """Return a program after edits.

    Raises:
        ValueError: an edit is not within the program, or overlaps with another one.
    """
    lines, end = before.splitlines(), len(before.splitlines())
    for edit in sorted(edits, key=lambda edit: edit.first, reverse=True):
        if not 1 <= edit.first <= edit.last + 1 <= end + 1:
            raise ValueError(f"an edit of lines {edit.first} to {edit.last} does not fit")
        lines[edit.first - 1 : edit.last] = edit.lines
        end = edit.first - 1
    return "\n".join([*lines, ""])
