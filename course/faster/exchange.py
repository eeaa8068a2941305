"""Measure the steps of a training with Horovod's real exchange, under two settings that are compared in pairs.

    with hosts.up(2, slots=1, rate="1gbit") as cluster:
        pairs = exchange.compare(cluster, {"HOROVOD_FUSION_THRESHOLD": 0}, {"HOROVOD_FUSION_THRESHOLD": 2**26})

The computation is a pause, as in course.hosts.step_time. Horovod gets each gradient as soon as it is there.
This file is also the program of the ranks: python -m course.faster.exchange ARGUMENTS, those of main() as JSON
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from course.faster.pairs import Pair
from course.hosts.cluster import Cluster
from course.hosts.ranks import run

WARM_UP = 3  # steps that are not timed
BLOCKS = 8  # of layers; the gradients of a block are there at once

Settings = Mapping[str, Any]  # environment variables, and what _step() takes: "compression": "fp16", "passes": 4


@dataclass(frozen=True)
class Work:
    """What a backward pass computes and exchanges."""

    gradients: int = 16  # tensors
    kilobytes: int = 800  # of all of them
    compute: float = 0.02  # seconds
    steps: int = 10  # that are timed


def compare(
    cluster: Cluster, before: Settings, after: Settings, work: Work | None = None, *, times: int = 2
) -> list[Pair]:
    """Return the seconds of a backward pass with two settings, in pairs.

    Args:
        cluster: its first two hosts have a rank each.
        before, after: environment variables of Horovod, and "compression": "fp16", or "passes": how many backward
            passes share one exchange.
        work: of a pass.
        times: pairs.

    Raises:
        HostsError: the training failed, and the message has its output; or it did not end.
    """
    work = work or Work()
    if variables(before) == variables(after):  # both sides of a pair run in one job
        seconds = steps(cluster, [before, after] * times, work)
    else:
        seconds = [each for _ in range(times) for side in (before, after) for each in steps(cluster, [side], work)]
    return [Pair(*pair) for pair in zip(seconds[::2], seconds[1::2], strict=True)]


def steps(cluster: Cluster, settings: Sequence[Settings], work: Work) -> list[float]:
    """Return the seconds of a backward pass with each of these settings, which have the same environment variables.

    Args, Raises: as for compare().
    """
    program = [sys.executable, "-m", "course.faster.exchange"]
    given = [{name: value for name, value in each.items() if name.islower()} for each in settings]
    options = [part for name, value in variables(settings[0]).items() for part in ("-x", f"{name}={value}")]
    options += ["--bind-to", "none"]
    arguments = json.dumps({"settings": given, "work": asdict(work)})
    return list(run(cluster, cluster.hosts[:2], [*program, arguments], what="The training", options=options)["seconds"])


def variables(settings: Settings) -> dict[str, str]:
    """Return the environment variables in these settings."""
    return {name: str(value) for name, value in settings.items() if name.isupper()}


def main(settings: list[dict[str, Any]], work: dict[str, Any]) -> None:
    """Train on this rank with each of these settings in turn; rank 0 prints the seconds of a pass with each as JSON."""
    import horovod.tensorflow as hvd
    import tensorflow as tf

    tf.config.threading.set_inter_op_parallelism_threads(4)  # one for the pause, others for the exchange
    hvd.init()
    seconds = [_seconds(hvd, Work(**work), number, **each) for number, each in enumerate(settings)]
    if hvd.rank() == 0:
        print(json.dumps({"seconds": seconds}), flush=True)


def _seconds(hvd: Any, work: Work, number: int, compression: str = "none", passes: int = 1) -> float:
    """Return the median seconds of a backward pass, on the slower rank."""
    from mpi4py import MPI

    step = _step(hvd, work, f"{number}", compression, passes)
    seconds = []
    for _ in range(WARM_UP + work.steps):
        MPI.COMM_WORLD.Barrier()
        began = time.perf_counter()
        step()
        seconds.append(max(MPI.COMM_WORLD.allgather(time.perf_counter() - began)))
    return statistics.median(seconds[WARM_UP:]) / passes


def _step(hvd: Any, work: Work, name: str, compression: str, passes: int) -> Callable[[], Any]:
    """Return a step of so many backward passes, of which the last one exchanges the gradients."""
    import tensorflow as tf

    compressor = getattr(hvd.Compression, compression)
    size = work.kilobytes * 1000 // 4 // work.gradients

    def pause(gradient: Any) -> Any:
        time.sleep(work.compute / BLOCKS)
        return gradient

    def computed(gradient: Any) -> Any:
        gradient = tf.numpy_function(pause, [gradient], tf.float32)
        gradient.set_shape([size])
        return gradient

    @tf.function
    def step() -> Any:
        gradient = tf.ones(size)
        for _ in range(BLOCKS * (passes - 1)):
            gradient = computed(gradient)
        sums = []
        for layer in reversed(range(work.gradients)):  # the last layer's gradient is there first
            if (layer + 1) % (work.gradients // BLOCKS) == 0:
                gradient = computed(gradient)
            own = gradient + layer  # or TensorFlow exchanges equal gradients once
            sums.append(hvd.allreduce(own, name=f"step_{name}/layer_{layer}", compression=compressor))
        return sums

    return step


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
