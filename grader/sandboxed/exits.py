"""What a script wants to be run at the end of its process."""

import atexit
import contextlib
import inspect
import weakref
from collections.abc import Callable
from typing import Any


class Exits:
    """Functions that a script registers for the end of its process, which a rank never runs, as os._exit ends it."""

    def __init__(self, script: str):
        """Begin to note what this script registers."""
        self.script = script
        self.calls: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []
        self.before = set(weakref.finalize._registry)  # type: ignore[attr-defined]
        register = atexit.register

        def watched(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
            caller = inspect.currentframe().f_back  # type: ignore[union-attr]
            if caller and caller.f_code.co_filename == self.script:
                self.calls.append((function, args, kwargs))
                return function
            return register(function, *args, **kwargs)

        atexit.register = watched  # type: ignore[assignment]

    def run(self) -> None:
        """Run it in Python's order, the last one first, and then what removes temporary folders."""
        for function, args, kwargs in reversed(self.calls):
            with contextlib.suppress(Exception):  # Python would run the others, too
                function(*args, **kwargs)
        for finalizer in set(weakref.finalize._registry) - self.before:  # type: ignore[attr-defined]
            alive = finalizer.peek()
            if alive and alive[1].__module__ in ("tempfile", "shutil", "__main__"):
                with contextlib.suppress(Exception):
                    finalizer()
