"""Hooks into Horovod: when a script initialises it, and which collective a rank is in."""

import inspect
from collections.abc import Callable
from typing import Any

from course.record import calls

# What ranks do together, as Horovod's library calls it.
COLLECTIVES = (
    *("allreduce", "grouped_allreduce", "allgather", "grouped_allgather", "broadcast", "broadcast_inplace"),
    *("broadcast_inplace_resource", "alltoall", "reducescatter", "grouped_reducescatter", "join"),
)
# Functions of Horovod that call collectives on a script's behalf; course.internal.stalls has words for them.
CALLERS = "_average_metrics_in_place", "broadcast_variables", "allreduce_grads"


def watch_init(note: Callable[[], None]) -> None:
    """Call a function each time that the script has initialised Horovod."""
    import horovod.tensorflow as hvd  # takes seconds, so not when this module is imported
    import horovod.tensorflow.keras as hvd_keras

    for module in (hvd, hvd_keras):
        calls.after(module, "init", lambda *args, **kwargs: note())


def watch_collectives(show: Callable[[str], None], script: str) -> None:
    """Call a function with a description of each collective that the rank enters, and with "" when it leaves it.

    Args:
        show: is not called again after a collective that fails: its last argument shows where that was.
        script: its path. A description has the line of the script that calls the collective.
    """
    import horovod.tensorflow as hvd

    library = hvd.mpi_ops.MPI_LIB

    def shown(kind: str, collective: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            shape = getattr(args[0], "shape", "") if args else ""
            tensor = f"“{kwargs['name']}”" if kwargs.get("name") else f"of a tensor {shape}"
            show(f"{kind} {tensor}{_caller(script)}")
            result = collective(*args, **kwargs)
            show("")
            return result

        return call

    for kind in COLLECTIVES:
        setattr(library, f"horovod_{kind}", shown(kind, getattr(library, f"horovod_{kind}")))


def _caller(script: str) -> str:
    """Return which of CALLERS, or which line of the script, calls a collective, as the end of a description."""
    frame = inspect.currentframe()
    while frame:
        if frame.f_code.co_filename == script:
            return f" on line {frame.f_lineno}"
        if frame.f_code.co_name in CALLERS and frame.f_globals["__name__"].startswith("horovod."):
            return f" in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
