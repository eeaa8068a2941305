"""The seconds that an allreduce takes, by algorithm.

In this model, a message of S bytes takes alpha + S * beta seconds (Hockney, 1994). Alpha is the latency in seconds, and
beta the seconds per byte, which is 8 divided by the rate in bits per second. Each rank sends one message and receives
one at a time. The additions are free.

The formulas are those of Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
MPICH" (2005), and, for the ring, of Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms" (2009).
"""

from collections.abc import Callable
from math import ceil, isclose, log2


def _gather_and_broadcast(size: float, ranks: int, alpha: float, beta: float) -> float:
    """One rank receives all others' tensors, one after another, and then sends the sum to each: 2(N - 1) messages."""
    return 2 * (ranks - 1) * (alpha + size * beta)


def _tree(size: float, ranks: int, alpha: float, beta: float) -> float:
    """A binomial tree sums towards its root, and the sum takes the same way back: 2 log2 N levels."""
    return 2 * ceil(log2(ranks)) * (alpha + size * beta)


def _ring(size: float, ranks: int, alpha: float, beta: float) -> float:
    """Each rank sends 2(N - 1) messages of one chunk, which is an N-th of the tensor, to the next rank."""
    return 2 * (ranks - 1) * (alpha + size / ranks * beta)


def _recursive_doubling(size: float, ranks: int, alpha: float, beta: float) -> float:
    """In log2 N rounds, pairs of ranks exchange whole tensors.

    If N is no power of two, the ranks in excess of one send their tensors before, and receive the sum after.
    """
    pairs = ranks.bit_length() - 1
    excess = ranks != 1 << pairs
    return (pairs + 2 * excess) * (alpha + size * beta)


def _rabenseifner(size: float, ranks: int, alpha: float, beta: float) -> float:
    """A reduce-scatter by recursive halving, and an allgather by recursive doubling: log2 N rounds each.

    If N is no power of two, the ranks in excess of one exchange halves with a neighbour, one of both receives the
    other half of the sum, and the other one receives the result at the end.
    """
    pairs = ranks.bit_length() - 1
    power = 1 << pairs
    seconds = 2 * pairs * alpha + 2 * (power - 1) / power * size * beta
    return seconds if ranks == power else seconds + 3 * alpha + 2 * size * beta


ALGORITHMS: dict[str, Callable[[float, int, float, float], float]] = {
    "gather_and_broadcast": _gather_and_broadcast,
    "tree": _tree,
    "ring": _ring,
    "recursive_doubling": _recursive_doubling,
    "rabenseifner": _rabenseifner,
}


def allreduce_seconds(size: float, ranks: int, alpha: float, beta: float, algorithm: str = "ring") -> float:
    """Return the seconds of an allreduce. One rank needs none.

    Args:
        size: of the tensor, in bytes.
        ranks: their number. In a ring over all GPUs of several hosts, each cable carries what one rank sends, so beta
            is the cable's.
        alpha: latency of a message, in seconds.
        beta: seconds per byte.
        algorithm: a key of ALGORITHMS.

    Raises:
        ValueError: the algorithm is not known, or a number cannot be.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"'{algorithm}' is not an algorithm. Choose one of: {', '.join(ALGORITHMS)}.")
    if ranks < 1 or min(size, alpha, beta) < 0:
        raise ValueError(f"Cannot be: size={size}, ranks={ranks}, alpha={alpha}, beta={beta}.")
    return ALGORITHMS[algorithm](size, ranks, alpha, beta)


def fused_allreduce_seconds(
    size: float, ranks: int, alpha: float, beta: float, algorithm: str = "ring", fusion_bytes: float | None = None
) -> float:
    """Return the seconds of allreduces, one after another, of tensors that were packed into buffers.

    Args:
        size: of all tensors, in bytes.
        ranks: their number.
        alpha: latency of a message, in seconds.
        beta: seconds per byte.
        algorithm: a key of ALGORITHMS.
        fusion_bytes: of a buffer, as in HOROVOD_FUSION_THRESHOLD; None: one buffer holds all.
    """
    if not fusion_bytes or size <= fusion_bytes:
        return allreduce_seconds(size, ranks, alpha, beta, algorithm)
    full, rest = divmod(size, fusion_bytes)
    seconds = full * allreduce_seconds(fusion_bytes, ranks, alpha, beta, algorithm)
    return seconds + (allreduce_seconds(rest, ranks, alpha, beta, algorithm) if rest else 0)


def hierarchical_seconds(
    size: float,
    hosts: int,
    gpus: int,
    alpha: float,
    beta: float,
    inside_alpha: float,
    inside_beta: float,
    algorithm: str = "ring",
) -> float:
    """Return the seconds of an allreduce in three phases, as with HOROVOD_HIERARCHICAL_ALLREDUCE.

    A reduce-scatter within each host, an allreduce between hosts, in which each GPU exchanges its own part of the
    tensor and all GPUs of a host share its cable, and an allgather within each host.

    Args:
        size: of the tensor, in bytes.
        hosts: their number.
        gpus: of each host.
        alpha: latency of a message between hosts, in seconds.
        beta: seconds per byte of a host's cable.
        inside_alpha: latency of a message within a host, in seconds.
        inside_beta: seconds per byte of one GPU within a host.
        algorithm: between hosts, a key of ALGORITHMS.
    """
    inside = allreduce_seconds(size, gpus, inside_alpha, inside_beta)  # a ring is these two phases
    return inside + allreduce_seconds(size, hosts, alpha, beta, algorithm)


def crossover_bytes(first: str, second: str, ranks: int, alpha: float, beta: float) -> float | None:
    """Return the size at which two algorithms take the same time, in bytes, or None if one is always as fast.

    Args:
        first: a key of ALGORITHMS.
        second: another one.
        ranks: their number.
        alpha: latency of a message, in seconds.
        beta: seconds per byte, not zero.
    """
    latency = [allreduce_seconds(0, ranks, alpha, 0, algorithm) for algorithm in (first, second)]
    per_byte = [allreduce_seconds(1, ranks, 0, beta, algorithm) for algorithm in (first, second)]
    if isclose(*per_byte):
        return None
    size = (latency[1] - latency[0]) / (per_byte[0] - per_byte[1])
    return size if size > 0 else None
