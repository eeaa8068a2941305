"""What every recorder notes of a script: what happened first, on which line, the error that ended it, its tensors.

Tensors are compared between processes by their projections: dot products with a few fixed random directions. They are
linear, so the projection of a mean is the mean of the projections.
"""

import argparse
import builtins
import inspect
import mmap
import re
import sys
import textwrap
import threading
import traceback
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Generic

import msgspec
import numpy as np

from grader.terms.facts import ARGUMENTS, Error, Recorded

# Directions for so many values; more values use them over again. Made here, once, so that the ranks, which are forks,
# share them.
VALUES = 2**16
DIRECTIONS = np.random.default_rng(0).standard_normal((16, VALUES))

# What TensorFlow says of an error in Python code that it called, such as a generator or a function that it traces: the
# error with its traceback is part of the message, and the frames of the exception end where TensorFlow was called.
CARRIED = re.compile(r"(?m)\n+Traceback \(most recent call last\):$|\A(?P<user>in user code:)$")
RAISED = re.compile(
    r"(?:Graph execution error:|<stack traces unavailable>|\d+ root error\(s\) found\.|\(0\) [A-Z_]+:|{{.*?}}|\s)*"
    r"(?P<kind>[A-Za-z_]\w*): (?P<message>[\s\S]*)"
)

SALT = 0x5E3779B1  # any odd number: hashes then differ in all that scripts make of them


class Recorder(Generic[Recorded]):
    """Records what one script does in one process, as facts. The latest recorder of a process is kept at hand."""

    latest: ClassVar["Recorder[Any]"]
    names: dict[str, Any] = {}  # noqa: RUF012  what the script finds in the place of built-in functions

    def __init__(self, script: str, rank: int, shared: mmap.mmap, facts: Recorded):
        """Record this script. Memory shared with the supervisor shows the collective that the rank is in."""
        self.script, self.rank, self.shared = script, rank, shared
        self.facts: Recorded = facts
        Recorder.latest = self

    def note(self, event: str) -> None:
        """Note that something happened for the first time, and on which line of the script."""
        if event not in self.facts.order:
            self.facts.order.append(event)
            self.note_line(event)

    def note_line(self, what: str) -> None:
        """Note the innermost line of the script that is being executed."""
        frame = inspect.currentframe()
        while frame and frame.f_code.co_filename != self.script:
            frame = frame.f_back
        if frame:
            self.facts.lines.setdefault(what, frame.f_lineno)

    def called_by_script(self) -> bool:
        """Whether the script itself, and no library, calls the function that the caller of this one watches.

        The caller is what calls.before() was given: between it and the script there is one more frame.
        """
        return sys._getframe(3).f_code.co_filename == self.script

    def note_waiting(self) -> None:
        """Note the line of the script that the main thread has reached, from another thread."""
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame and frame.f_code.co_filename != self.script:
            frame = frame.f_back
        if frame:
            self.facts.lines["waiting"] = frame.f_lineno

    def show(self, collective: str) -> None:
        """Show the supervisor which collective this rank is in."""
        self.shared[:] = collective.encode()[: len(self.shared)].ljust(len(self.shared), b"\0")

    def project(self, tensors: Iterable[Any]) -> list[float]:
        """Return the dot products of all tensors, as one long vector, with each direction: 16 numbers."""
        parts = [np.ravel(np.asarray(tensor, dtype=np.float64)) for tensor in tensors if tensor is not None]
        values = np.concatenate(parts) if parts else np.zeros(0)
        total = values[:VALUES].copy()
        for begin in range(VALUES, values.size, VALUES):  # what has the same directions is added up first
            more = values[begin : begin + VALUES]
            total[: more.size] += more
        projection: list[float] = (DIRECTIONS[:, : total.size] @ total).tolist()
        return projection

    def run(self, arguments: Iterable[str]) -> None:
        """Run the script as the main program. No file next to it can be imported.

        Raises nothing of the script's: an exception is a fact, its traceback without frames of ours.
        """
        sys.argv = [self.script, *arguments]
        del sys.path[0]
        main = types.ModuleType("__main__")
        vars(main).update(self.names, __file__=self.script, __builtins__=builtins)
        sys.modules["__main__"] = main
        try:
            exec(compile(Path(self.script).read_text("utf-8"), self.script, "exec", dont_inherit=True), vars(main))
        except SystemExit as stop:
            error = _error(stop, self.script)
            if stop.code not in (None, 0):
                self.facts.error = error
            elif error.line:
                self.facts.lines["exit"] = error.line
        except BaseException as error:  # KeyboardInterrupt too: whatever the script raises is a fact
            self.facts.error = _error(error, self.script)

    def encoded(self) -> bytes:
        """Return the facts as msgpack, as far as they are known."""
        try:
            return msgspec.msgpack.encode(self.facts, enc_hook=plain)
        except (UnicodeEncodeError, OverflowError):  # a text of the script has halves of characters, or a huge number
            return msgspec.msgpack.encode(_whole(msgspec.to_builtins(self.facts, enc_hook=plain)))


def _whole(value: Any) -> Any:
    """Return built-in values with a question mark in the place of each half of a character, and 0 of a huge number."""
    if isinstance(value, int):
        return value if abs(value) < 2**63 else 0
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(held) for key, held in value.items()}
    return [_whole(held) for held in value] if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """Return a number or a text of a script as Python's own: NumPy's as such, a whole float as an integer.

    Raises:
        NotImplementedError: it is neither.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    raise NotImplementedError(f"{value!r} is no fact")


def _error(error: BaseException, script: str) -> Error:
    """Return an exception as a fact: where in the script it arose, and what it says."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == script]
    refused = _refused_arguments(error)
    kind, message = type(error).__name__, str(error)
    said = "".join(traceback.format_exception_only(error))
    if carried := CARRIED.search(message):
        inner = re.findall(rf'File "{re.escape(script)}", line (\d+), in (\S*)', message[carried.start() :])
        own += [traceback.FrameSummary(script, int(number), name) for number, name in inner]
        kind, message = _carried(message, carried, kind)
        said = f"{kind}: {message}\n"
    line = error.lineno if isinstance(error, SyntaxError) else own[-1].lineno if own else None
    if refused:
        return Error(ARGUMENTS, refused, line, "")
    shown = ("".join(traceback.format_list(own)) + _without_origins(said)).replace(script, Path(script).name)[-8000:]
    return Error(kind, _without_origins(message)[:2000], line, shown)


def _carried(message: str, carried: re.Match[str], kind: str) -> tuple[str, str]:
    """Return the kind and the message of the error that TensorFlow's message carries with its traceback."""
    if carried["user"]:  # the kind is that of the error itself, which comes after its frames
        text = textwrap.dedent(_without_origins(message[carried.end() :])).strip()
        return kind, text.removeprefix(f"{kind}: ")
    raised = RAISED.fullmatch(_without_origins(message[: carried.start()]))
    return (raised["kind"], raised["message"].strip()) if raised else (kind, message[: carried.start()])


def _without_origins(text: str) -> str:
    """Return an error's text without where each node of a graph was made, which TensorFlow tells at length."""
    return re.sub(r'(?m)^(Detected at node .*|( *)File ".*", line \d+, in .*(\n\2 +\S.*)*)\n+', "", text)


def _refused_arguments(error: BaseException) -> str | None:
    """Return what argparse says, where it ended the script since it did not accept an argument."""
    if isinstance(error, SystemExit):
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code is argparse.ArgumentParser.error.__code__:
                return str(frame.f_locals["message"])[:2000]
    return None


def salted_hash(rank: int) -> Callable[[object], int]:
    """Return what hash() is in a process of its own.

    Python salts the hash of a text at random, once per process. The ranks here are forks of one process, so they would
    agree where real ranks do not.
    """

    def holds_text(value: object) -> bool:
        return isinstance(value, str | bytes) or (isinstance(value, tuple | frozenset) and any(map(holds_text, value)))

    return lambda value: hash(value) ^ (rank * SALT if holds_text(value) else 0)


def draw_weights(weights: list[Any], random: np.random.Generator) -> None:
    """Draw the matrices among a model's weights anew, so that the accuracy it reaches does not rest on its own draw."""
    for weight in weights:
        if weight.shape.rank > 1:
            limit = np.sqrt(6 / (np.prod(weight.shape[:-2]) * sum(weight.shape[-2:])))  # Glorot and Bengio's
            weight.assign(random.uniform(-limit, limit, weight.shape))
