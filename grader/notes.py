"""What every probe writes down: what happened first, on which line of the script, and projections of tensors.

Tensors are compared between processes by their projections: dot products with a few fixed random directions. They are
linear, so the projection of a mean is the mean of the projections.
"""

import inspect
import mmap
import runpy
import sys
import traceback
from pathlib import Path

import numpy as np

# Directions for as many values as the lesson's smallest network has; more values use them over again.
# Made here, once, so that the ranks, which are forks, share them.
DIRECTIONS = np.random.default_rng(0).standard_normal((16, 2**18))


class Notes:
    """Notes on one script in one process; facts is what was seen, ready for JSON. The latest are kept at hand."""

    latest = None

    def __init__(self, script: str, rank: int, board: mmap.mmap, facts: dict):
        """Take notes on this script. The board shows the collective that it is in; facts has "order" and "lines"."""
        self.script, self.rank, self.board, self.facts = script, rank, board, facts
        Notes.latest = self

    def note(self, event: str) -> None:
        """Note that something happened for the first time, and on which line of the script."""
        if event not in self.facts["order"]:
            self.facts["order"].append(event)
            self.note_line(event)

    def note_line(self, what: str) -> None:
        """Note the innermost line of the script that is being executed."""
        frame = inspect.currentframe()
        while frame and frame.f_code.co_filename != self.script:
            frame = frame.f_back
        if frame:
            self.facts["lines"].setdefault(what, frame.f_lineno)

    def show(self, collective: str) -> None:
        """Write on the board which collective this rank is in."""
        self.board[:] = collective.encode()[: len(self.board)].ljust(len(self.board), b"\0")

    def project(self, tensors) -> list[float]:
        """Return the dot products of all tensors, as one long vector, with each direction."""
        parts = [np.ravel(np.asarray(tensor, dtype=np.float64)) for tensor in tensors if tensor is not None]
        values = np.concatenate(parts) if parts else np.zeros(0)
        directions = (
            DIRECTIONS[:, np.arange(values.size) % DIRECTIONS.shape[1]]
            if values.size > DIRECTIONS.shape[1]
            else DIRECTIONS
        )
        return (directions[:, : values.size] @ values).tolist()

    def run(self, arguments: list[str]) -> None:
        """Run the script as the main program.

        Raises nothing of the script's: an exception is a fact, {"kind", "message", "line", "traceback"}, its traceback
        without frames of ours.
        """
        sys.argv = [self.script, *arguments]
        sys.path[0] = str(Path(self.script).parent)
        try:
            runpy.run_path(self.script, run_name="__main__")
        except SystemExit as stop:
            error = _error(stop, self.script)
            if stop.code not in (None, 0):
                self.facts["error"] = error
            elif error["line"]:
                self.facts.setdefault("lines", {})["exit"] = error["line"]
        except BaseException as error:  # KeyboardInterrupt too: whatever the script raises is a fact
            self.facts["error"] = _error(error, self.script)


def _error(error: BaseException, script: str) -> dict:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == script]
    lines = traceback.format_list(own) + traceback.format_exception_only(error)
    line = error.lineno if isinstance(error, SyntaxError) else own[-1].lineno if own else None
    return {
        "kind": type(error).__name__,
        "message": str(error)[:2000],
        "line": line,
        "traceback": "".join(lines).replace(script, Path(script).name)[-8000:],
    }
