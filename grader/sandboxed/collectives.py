"""Watch what a rank does with the others: when it initialises Horovod, and which collective it is in."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from grader.terms.job import COLLECTIVES

if TYPE_CHECKING:
    from grader.sandboxed.horovod_recorder import HorovodRecorder

CALLERS = (
    "_average_metrics_in_place",
    "broadcast_variables",
    "allreduce_grads",
)  # of Horovod: course.internal.stalls has words for them


def watch(recorder: "HorovodRecorder") -> None:
    """Note when Horovod is initialised, and show the collective that the rank is in."""
    import horovod.tensorflow as hvd
    import horovod.tensorflow.keras as hvd_keras

    library = hvd.mpi_ops.MPI_LIB
    for kind in COLLECTIVES:
        setattr(library, f"horovod_{kind}", _shown(recorder, kind, getattr(library, f"horovod_{kind}")))
    for module in (hvd, hvd_keras):
        module.init = _noted(recorder, "init", module.init)


def _noted(recorder: "HorovodRecorder", event: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        recorder.note(event)
        return result

    return call


def _shown(recorder: "HorovodRecorder", kind: str, collective: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        shape = getattr(args[0], "shape", "") if args else ""
        shown = f"{kind} “{kwargs['name']}”" if kwargs.get("name") else f"{kind} of a tensor {shape}"
        recorder.show(f"{shown}{_caller(recorder.script)}")
        result = collective(*args, **kwargs)
        recorder.show("")  # not after an error: it shows where the rank failed
        return result

    return call


def _caller(script: str) -> str:
    """Say which function of Horovod, if it is one of CALLERS, or which line of the script calls a collective."""
    frame = inspect.currentframe()
    while frame:
        if frame.f_code.co_filename == script:
            return f" on line {frame.f_lineno}"
        if frame.f_code.co_name in CALLERS and frame.f_globals["__name__"].startswith("horovod."):
            return f" in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
