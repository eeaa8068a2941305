"""Read a shell script without running it: where things are in it. Whether it is valid bash, bash itself says."""

import ast
import re

from grader.reading.parsing import NoScriptError, Source


class ShellSource(Source):
    """A shell script's text."""

    def line_of(self, *names: str) -> int | None:
        """Return the first line in which one of these words is, in the order given; in a comment only after #SBATCH."""
        lines = [re.sub(r"(^|\s)#(?!SBATCH).*", "", line) for line in self.text.splitlines()]
        for name in names:
            word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
            for number, line in enumerate(lines, 1):
                if word.search(line):
                    return number
        return None


def read(text: str) -> Source:
    """Return a script to find lines in. It runs on hosts in a sandbox only, so nothing in it is unexpected.

    Raises:
        NoScriptError: Linux does not start it, since its lines end as on Windows.
    """
    if "\r\n" in text:
        line = text[: text.index("\r\n")].count("\n") + 1
        raise NoScriptError(
            "The file has Windows line ends (CR LF), and Linux looks for a program 'bash\\r'. Expected: line ends of "
            "Linux (LF). Choose LF in your editor, or run: sed -i 's/\\r$//' FILE",
            line,
        )
    return ShellSource(text, ast.Module([], []))
