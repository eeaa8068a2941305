"""Small files that outlive a lesson: what a learner has done, as JSON. A damaged one counts as empty."""

import contextlib
import os
from pathlib import Path
from typing import TypeVar

import msgspec

Value = TypeVar("Value")


def read(file: Path, values: type[Value]) -> dict[str, Value]:
    """Return what a file holds, by names; nothing where it is missing or damaged.

    Args:
        file: its path.
        values: the type of each value.
    """
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=dict[str, values])  # type: ignore[valid-type]
    return {}


def write(file: Path, known: dict[str, Value]) -> None:
    """Write values into a file, all or none. Where nothing can be written, the lesson continues without it."""
    new = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        new.write_bytes(msgspec.json.encode(known))
        new.replace(file)
