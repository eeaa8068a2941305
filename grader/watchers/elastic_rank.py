"""Runs step 20's program as a rank, so that it has to do what Horovod or its arguments do elsewhere.

    python elastic_rank.py PROGRAM [ARGUMENT ...] --weights FILE

Horovod recognises most errors of a step that has lost a rank by a passage in their text, but not all. Here it
recognises none, so the program has to. Ranks other than 0 do not get the weights to start from: their program draws
its own, and has to take over those of rank 0, as where it joins a training.
"""

import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
from horovod.common.elastic import run_fn
from horovod.common.exceptions import HorovodInternalError
from horovod.tensorflow import elastic

RECOGNISED = "HorovodAllgather", "HorovodBroadcast"  # and not HorovodAllreduce, which a step ends with


def run(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand in for hvd.elastic.run, which does the same but for the errors that it recognises."""

    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except tf.errors.UnknownError as error:
            if any(passage in error.message for passage in RECOGNISED):
                raise HorovodInternalError(error) from error

    return run_fn(wrapper, elastic._reset)


if __name__ == "__main__":
    elastic.run = run
    del sys.argv[0]
    if os.environ["HOROVOD_RANK"] != "0":
        del sys.argv[-2:]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
