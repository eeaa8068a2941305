"""Predict the seconds of a training step on any number of ranks, from allreduces that were measured on a few.

`fit` finds the latency of a network, and its seconds per byte. `step_seconds` uses both.
"""

import numpy as np


def messages(ranks, algorithm="ring"):
    """Return how many messages of an allreduce have to wait for each other, and the share of the array in each one."""
    levels = (ranks - 1).bit_length()  # log2, rounded up
    return {
        "gather_and_broadcast": (2 * (ranks - 1), 1),
        "tree": (2 * levels, 1),
        "recursive_doubling": (levels, 1),
        "ring": (2 * (ranks - 1), 1 / ranks),
    }[algorithm]


def fit(measured):
    """Return alpha in seconds, and beta in seconds per byte, that describe measurements best.

    Args:
        measured: bytes, ranks and seconds of each allreduce, which goes over a ring.
    """
    rows = []
    for size, ranks, seconds in measured:
        number, share = messages(ranks)
        # Divided by the seconds, a row's error is a share of them: small arrays count as much as large ones.
        rows.append([number / seconds, number * share * size / seconds])
    (alpha, beta), *_ = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)
    return float(alpha), float(beta)


def step_seconds(gradient_bytes, ranks, alpha, beta, compute, overlap, algorithm="ring"):
    """Return the seconds of a step, in which each rank computes, and all average their gradients.

    Args:
        gradient_bytes: size of all gradients.
        ranks: their number.
        alpha: latency of a message, in seconds.
        beta: seconds per byte.
        compute: seconds of computation.
        overlap: share of the computation during which gradients can be exchanged.
        algorithm: of the allreduce.
    """
    number, share = messages(ranks, algorithm)
    communication = number * (alpha + share * gradient_bytes * beta)
    return compute + max(0, communication - overlap * compute)
