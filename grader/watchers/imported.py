"""A learner's file whose functions the judge calls: import it, and describe its errors."""

import importlib.util
import traceback
from collections.abc import Callable
from typing import Any

from grader.terms.facts import Error


def functions(program: str, *names: str) -> list[Callable[..., Any]]:
    """Import a program, and return its functions of these names.

    Raises:
        LookupError: the program lacks one of them.
        Exception: the program fails.
    """
    spec = importlib.util.spec_from_file_location("program", program)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [getattr(module, name, None) for name in names]
    for name, function in zip(names, found, strict=True):
        if not callable(function):
            raise LookupError(f"the file defines no function {name}")
    return [function for function in found if function]


def error_of(error: BaseException, program: str) -> Error:
    """Return an error with the innermost line of the program."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == program]
    line = lines[-1] if lines else getattr(error, "lineno", None)
    return Error(type(error).__name__[:1000], str(error)[:2000], line, "")
