"""Read a learner's answers, a TOML file: its tables, and where each field is."""

import ast
import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from grader.reading.parsing import NoScriptError, Source

LARGEST = 8_000  # characters: of a longer file of dotted names, Python's reader takes the square of the length


@dataclass
class Form(Source):
    """A file of answers. No program: nothing in it is run."""

    tables: dict[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> dict[str, Any] | None:
        """Return a table; None if there is none of this name."""
        found = self.tables.get(name)
        return found if isinstance(found, dict) else None

    def line_in(self, table: str, name: str) -> int | None:
        """Return the line of a field of a table; without one, that of the table's head, and None without either."""
        head, inside = None, False
        for number, line in enumerate(self.text.splitlines(), 1):
            if begins := re.match(r"\s*\[\s*[\"']?([^\]\"']*?)[\"']?\s*\]", line):
                inside = begins[1] == table
                head = number if inside else head
            elif inside and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=", line):
                return number
        return head

    def other_table(self, names: tuple[str, ...]) -> tuple[str, int | None] | None:
        """Return the first table that has none of these names, with its line; None if all have one."""
        other = next((name for name in self.tables if self.table(name) is not None and name not in names), None)
        return (other, self.line_in(other, "")) if other is not None else None


def read(text: str) -> Form:
    """Return the answers of a file.

    Raises:
        NoScriptError: it is not TOML, or far longer than answers are.
    """
    if len(text) > LARGEST:
        raise NoScriptError(f"The file is larger than {LARGEST // 1000} kB. A file of answers is not.")
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        why = str(error)[: at.start()] if at else "it is nested too deep"
        line = int(at[1]) if at and at[1] else len(text.splitlines())
        message = f'The file is not valid TOML: {why}. Expected: lines such as rank = 2 and collective = "allgather".'
        raise NoScriptError(message, line) from None
    return Form(text, ast.Module([], []), tables=tables)


def rank_of(value: Any) -> int | None:
    """Return the rank that an answer names, such as 2, "2" or "rank 2"; None if it names none."""
    found = re.fullmatch(r"(?:rank)?\s*(\d{1,9})", str(value).strip().lower())
    return int(found[1]) if found and not isinstance(value, bool) else None


def line_of(value: Any) -> int | None:
    """Return the line that an answer names, such as 27, "27", "line 27" or "job_1.py:27"; None if it names none."""
    found = re.fullmatch(r"(?:line|\w+\.py(?:,? line|:))?\s*(\d{1,9})", str(value).strip().lower())
    return int(found[1]) if found and not isinstance(value, bool) else None
