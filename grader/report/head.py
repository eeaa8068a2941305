"""The head of a report on a learner's own file: its name, when it was saved, and the TODO comments left in it."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

from course import steps

OLD = 120  # seconds since a file was saved, after which a learner may have changed it without saving
TODO = re.compile(r"#\s*TODO:? +Step (\d+)", re.IGNORECASE)
UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True)
class Head:
    """What a report says of the file before its checks."""

    file: str  # as the learner named it
    age: float  # seconds since it was saved
    step: int  # that it was judged for
    todos: tuple[int, ...]  # lines with a TODO comment of this step or of an earlier one

    def __str__(self) -> str:
        """Return the head in a few sentences."""
        parts = [f"{self.file}, saved {_ago(self.age)}."]
        if self.todos:
            one = len(self.todos) == 1
            lines = ", ".join(map(str, self.todos))
            parts.append(
                f"{len(self.todos)} TODO comment{'' if one else 's'} up to {steps.label(self.step)} "
                f"{'is' if one else 'are'} left (line{'' if one else 's'} {lines})."
            )
        if self.age > OLD:
            parts.append("Only what is saved is checked: if you have changed the file since, save it and check again.")
        return " ".join(parts)


def read(file: str | Path, step: int) -> Head | None:
    """Return the head for a file as it is now; None if it cannot be read.

    Args:
        file: the learner's.
        step: that it is judged for.
    """
    path = Path(file)
    if not path.is_file():
        return None
    try:
        saved, text = path.stat().st_mtime, path.read_bytes().decode(errors="replace")
    except (OSError, ValueError):
        return None
    found = ((number, TODO.search(line)) for number, line in enumerate(text.splitlines(), 1))
    todos = tuple(number for number, todo in found if todo and int(todo[1]) <= step)
    return Head(str(file), max(0.0, time.time() - saved), step, todos)


def _ago(seconds: float) -> str:
    """Return a time span in its largest whole unit."""
    for length, unit in UNITS:
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"
