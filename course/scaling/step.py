"""The seconds of a training step: computation, and the communication that it cannot hide."""

from course.scaling.allreduce import allreduce_seconds, fused_allreduce_seconds


def exposed_seconds(communication: float, compute: float, overlap: float, last: float = 0) -> float:
    """Return the seconds of communication that computation does not hide.

    Communication starts when the first gradients are there, and runs while the others are computed.

    Args:
        communication: seconds of the allreduces of a step.
        compute: seconds of computation in a step.
        overlap: share of the computation during which communication can run, from 0 to 1. With 0, a step takes the sum
            of both; with 1, the longer of both. A backward pass is about two thirds of the computation.
        last: seconds of the last allreduce, which nothing hides: its gradients are computed last.

    Raises:
        ValueError: overlap is not from 0 to 1.
    """
    if not 0 <= overlap <= 1:
        raise ValueError(f"overlap={overlap} is not from 0 to 1.")
    return max(communication - overlap * compute, min(last, communication))


def step_seconds(
    gradient_bytes: float,
    ranks: int,
    alpha: float,
    beta: float,
    compute: float,
    overlap: float,
    algorithm: str = "ring",
    fusion_bytes: float | None = None,
) -> float:
    """Return the seconds of a step in which all ranks compute, and average their gradients.

    Args:
        gradient_bytes: size of all gradients.
        ranks: their number.
        alpha: latency of a message, in seconds.
        beta: seconds per byte.
        compute: seconds of computation on one rank.
        overlap: see exposed_seconds.
        algorithm: a key of ALGORITHMS.
        fusion_bytes: size of a fusion buffer, in Horovod 0.28 128 MiB. The last one is never hidden. None: all
            gradients are one message, and overlap alone says how much of it is hidden.

    Raises:
        ValueError: a number cannot be, or the algorithm is not known.
    """
    communication = fused_allreduce_seconds(gradient_bytes, ranks, alpha, beta, algorithm, fusion_bytes)
    last_bytes = min(fusion_bytes or 0, gradient_bytes)
    last = allreduce_seconds(last_bytes, ranks, alpha, beta, algorithm) if last_bytes else 0
    return compute + exposed_seconds(communication, compute, overlap, last)
