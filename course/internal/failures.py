"""Show a failed run to a learner: why it failed, where each process was in the program, and the rest folded away."""

import html
import itertools
import re
from collections.abc import Mapping, Sequence

from course.steps import ROOT

LAST_LINES = 15  # of what a process printed, to repeat on a terminal
FOLDED_LINES = 100  # likewise, below the reason in a notebook
WIDTH = 150  # characters of an error's line

_FRAME = re.compile(r'\s*File "([^"<]+)", line (\d+)')
_ERROR = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt): ")
_NOT_OWN = "/site-packages/", "/dist-packages/", "/lib/python3", f"{ROOT}/course/"
_FAILS = re.compile(r"Traceback \(most recent call last\)")
# Horovod's report on a collective that some ranks have not joined. It may be a false alarm, and training continue.
_STALLS = re.compile(r"\[.*stall_inspector|Missing ranks:|Stalled ops:|\d+!?: \[|One or more rank")
_SHUT_DOWN = "Horovod has been shut down"


class RunError(RuntimeError):
    """A process of a run failed. The message has the reason, and the last lines of some processes."""

    def __init__(self, reason: str, printed: Mapping[str, Sequence[str]] | None = None):
        """Have a reason, in sentences, and the lines that processes printed, by name; None where none was started."""
        self.reason, self.printed = reason.strip(), printed or {}
        lines = [f"[{name}] {line}" for name, of_one in self.printed.items() for line in of_one[-LAST_LINES:]]
        last = "\n".join(["The last lines:", *lines]) if lines else "" if printed is None else "Nothing was printed."
        super().__init__(f"{self.reason} {last}".strip())

    def _render_traceback_(self) -> list[str]:
        """Show reason and places in a notebook, and what was printed folded above: no line of the course's helps."""
        if self.printed:
            _show_folded(self.printed)
        return [f"{type(self).__name__}: {self.reason}", *places(self.printed)]


def places(printed: Mapping[str, Sequence[str]]) -> list[str]:
    """Return where each process was in the program, and its error; its last line where it printed no traceback.

    Args:
        printed: by process, its lines.
    """
    found = []
    for name, lines in printed.items():
        # A frame has a line of code below it, unless it says where an operation of a graph was made.
        below = enumerate(itertools.pairwise(lines))
        coded = [(line, number) for number, (line, code) in below if not code.lstrip().startswith('File "')]
        frames = [(match, number) for line, number in coded if (match := _FRAME.match(line))]
        own = [(match, number) for match, number in frames if not any(part in match[1] for part in _NOT_OWN)]
        said = lines[-1:]
        if own:
            match, number = own[-1]
            found.append(f"[{name}] {match[1].rpartition('/')[2]}, line {match[2]}: {lines[number + 1].strip()}")
            said = [line for line in lines[frames[-1][1] :] if _ERROR.match(line)][-1:]
        found += [f"[{name}] {line[:WIDTH]}" for line in said if _SHUT_DOWN not in line]
    return found


def _show_folded(printed: Mapping[str, Sequence[str]]) -> None:
    """Display the last lines of each process, to be opened with a click."""
    text = "\n".join(f"[{name}] {line}" for name, lines in printed.items() for line in lines[-FOLDED_LINES:])
    page = f"<details><summary>What was printed last</summary><pre>{html.escape(text)}</pre></details>"
    from IPython.display import display  # is slow to import, and only notebooks need it

    display({"text/html": page, "text/plain": text}, raw=True)


class Relay:
    """Prints lines of processes as they come, but for the tracebacks and stall reports that a RunError explains."""

    def __init__(self) -> None:
        """Begin with a run."""
        self.held: dict[str, list[str]] = {}  # by process, its lines since its first traceback

    def __call__(self, line: str) -> None:
        """Print a line, which begins with the name of its process in brackets, or hold it back."""
        name, _, text = line.partition("] ")
        if _FAILS.match(text):
            self.held.setdefault(name, [])
        if name in self.held:
            self.held[name].append(line)
        elif not _STALLS.match(text):
            print(line)

    def release(self) -> None:
        """Print what was held back: the run did not fail."""
        for line in (line for lines in self.held.values() for line in lines):
            print(line)
        self.held = {}
