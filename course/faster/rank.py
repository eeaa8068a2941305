"""Runs a program as a rank, and notes what its training costs and reaches.

    python -m course.faster.rank FOLDER PROGRAM [ARGUMENT ...]

Each rank writes FOLDER/rank_N.json, a Rank. What Model.evaluate returns last, after Model.fit, is what the training has
reached.
"""

import functools
import os
import runpy
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from course.record import keras_hooks

FEW = 3  # elements of each weight that are noted
WINDOW = 8  # batches that are timed together: some of them may exchange gradients, and others not


class Rank(msgspec.Struct, forbid_unknown_fields=True):
    """What one rank has seen of its training."""

    size: int = 0  # ranks of the job
    batches: int = 0
    updates: int = 0  # batches that have changed the weights
    images: int = 0  # in all batches
    seconds: float = 0.0  # of all batches, if each took as long as in the fastest WINDOW of them
    loss: float | None = None  # of the evaluation after training; None without one
    evaluated: int = 0  # images in that evaluation
    weights: list[float] = []  # some elements of each weight at the end


class _Training:
    """A listener that counts and times the batches of a training."""

    def __init__(self, model: Any, seen: Rank):
        self.model, self.seen = model, seen
        self.ends: list[float] = []  # of batches
        self.images = 0
        self.weight: list[float] = []

    def batch_updated(self, batch: int, logs: Any = None) -> None:
        self.ends.append(time.perf_counter())
        weight = self.model.trainable_variables[-1].numpy().tolist()
        self.seen.updates += weight != self.weight
        images = counted(self.model)
        self.seen.images += images - self.images if images > self.images else images  # the count begins with an epoch
        self.weight, self.images = weight, images

    def training_ends(self, logs: Any = None) -> None:
        self.seen.batches = len(self.ends)
        windows = zip(self.ends, self.ends[WINDOW:], strict=False)
        self.seen.seconds = min((after - before for before, after in windows), default=0.0) / WINDOW * len(self.ends)


def counted(model: Any) -> int:
    """Return how many images Keras has counted since its metrics were reset; 0 where a model has a loss of its own."""
    counts = [metric.count for metric in model.metrics if metric.name == "loss" and hasattr(metric, "count")]
    return int(counts[0].numpy()) if counts else 0


def watch(seen: Rank) -> None:
    """Have trainings and evaluations of this process noted."""
    import tensorflow as tf

    evaluate = tf.keras.Model.evaluate

    @contextmanager
    def around(call: keras_hooks.FitCall) -> Iterator[None]:
        import horovod.tensorflow.keras as hvd

        seen.size = hvd.size()
        call.listener = _Training(call.model, seen)
        yield
        seen.weights = [float(value) for each in call.model.trainable_variables for value in each.numpy().ravel()[:FEW]]

    @functools.wraps(evaluate)
    def noted(model: Any, *args: Any, **kwargs: Any) -> Any:
        result = evaluate(model, *args, **kwargs)
        if seen.weights:
            numbers = list(result.values()) if isinstance(result, dict) else result
            seen.loss = float(numbers[0] if isinstance(numbers, list) else numbers)
            seen.evaluated = counted(model)
        return result

    keras_hooks.wrap_fit(around)
    tf.keras.Model.evaluate = noted


def main(folder: Path, program: str) -> None:
    """Run the program, whose arguments are those of this process."""
    seen = Rank()
    watch(seen)
    sys.path[0] = str(Path(program).parent)
    runpy.run_path(program, run_name="__main__")
    (folder / f"rank_{os.environ['OMPI_COMM_WORLD_RANK']}.json").write_bytes(msgspec.json.encode(seen))


if __name__ == "__main__":
    place, sys.argv = Path(sys.argv[1]), sys.argv[2:]
    main(place, sys.argv[0])
