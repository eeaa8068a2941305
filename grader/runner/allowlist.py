"""What a plain training script may use: allowlist.toml, and what is public in Python's own kinds of values."""

import argparse
import builtins
import collections
import contextlib
import csv
import datetime
import decimal
import enum
import fractions
import functools
import importlib
import io
import itertools
import logging
import os
import queue
import random
import re
import tempfile
import threading
import tomllib
import types
from concurrent import futures
from pathlib import Path

from grader.attributes import REFUSED

LIST = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
MODULES: dict[str, frozenset[str]] = {name: frozenset(text.split()) for name, text in LIST["modules"].items()}
NAMES: dict[str, frozenset[str]] = {kind: frozenset(text.split()) for kind, text in LIST["names"].items()}

# Values of Python's own kinds, and of its library's: what is public in them may be used.
KINDS: tuple[type, ...] = (
    *(str, bytes, bytearray, int, float, complex, list, dict, set, frozenset, tuple, range, slice, property, OSError),
    *(SystemExit, StopIteration, UnicodeDecodeError, io.StringIO, io.BytesIO, io.TextIOWrapper, Path, os.stat_result),
    *(argparse.ArgumentParser, argparse.Action, collections.Counter, collections.OrderedDict, collections.defaultdict),
    *(collections.deque, csv.DictWriter, datetime.datetime, datetime.timedelta, decimal.Decimal, enum.Enum),
    *(fractions.Fraction, futures.Executor, futures.Future, logging.Logger, logging.StreamHandler, logging.Formatter),
    *(queue.Queue, random.Random, re.Pattern, re.Match, threading.Thread, threading.Event, threading.Condition),
    *(itertools.chain, tempfile.TemporaryDirectory, contextlib.ExitStack),
)
VALUES = {name for kind in KINDS for name in dir(kind) if not name.startswith("_")} - REFUSED
METHODS = {name for kind in KINDS for name in VALUES if callable(getattr(kind, name, None))}
VALUES |= {"digest", "hexdigest", "writerow", "writerows"}  # of what hashlib's and csv's functions return

PACKAGES = {f"{module}.{name[:-2]}" for module, names in MODULES.items() for name in names if name.endswith(".*")}
BUILTIN = NAMES["builtin"] | {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}


def is_module(path: str) -> bool:
    """Whether a path is that of a module with something on the list, or of a package of one."""
    return any(f"{module}.".startswith(f"{path}.") for module in (*MODULES, *PACKAGES))


@functools.cache
def allowed(path: str) -> bool:
    """Whether what a path stands for may be used: something in a module, by the module's own names."""
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        names = MODULES.get(".".join(parts[:end]))
        if names is not None:
            return _in(names, ".".join(parts[:end]), ".".join(parts[end:]))
    return False


def _in(names: frozenset[str], module: str, rest: str) -> bool:
    private = any(part.startswith("_") or part in NAMES["inside"] for part in rest.split("."))
    if rest in names:
        return True
    if private or any(rest == name[1:] or rest.startswith(f"{name[1:]}.") for name in names if name[0] == "!"):
        return False
    if "**" in names or any(rest.startswith(name[:-1]) for name in names if name.endswith(".*")):
        return True
    return "*" in names and "." not in rest and rest in _public(module)


@functools.cache
def _public(module: str) -> frozenset[str]:
    """Return the public names of a module of Python or NumPy that are no modules."""
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", [name for name in dir(loaded) if not name.startswith("_")])
    return frozenset(name for name in names if not isinstance(getattr(loaded, name, None), types.ModuleType))
