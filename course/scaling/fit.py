"""The latency and the seconds per byte of a network, fitted to measured allreduces."""

from collections.abc import Iterable

import numpy as np
from scipy.optimize import nnls

from course.scaling.allreduce import allreduce_seconds


def fit_alpha_beta(measured: Iterable[tuple[float, int, float]], algorithm: str = "ring") -> tuple[float, float]:
    """Return alpha in seconds and beta in seconds per byte that describe measurements best.

    Each algorithm's time is a multiple of alpha plus a multiple of beta, so this is linear least squares, with neither
    of them negative. Each measurement is weighted by its time: a millisecond matters for a short allreduce, and not for
    a long one.

    Args:
        measured: bytes, ranks and seconds of each allreduce, on at least two ranks.
        algorithm: a key of ALGORITHMS.

    Raises:
        ValueError: the measurements do not determine both, because all have the same size.
    """
    rows = [
        [allreduce_seconds(size, ranks, 1, 0, algorithm), allreduce_seconds(size, ranks, 0, 1, algorithm), seconds]
        for size, ranks, seconds in measured
    ]
    table = np.array(rows, dtype=float).reshape(-1, 3)
    relative = table[:, :2] / table[:, 2:]
    scale = relative.max(axis=0, initial=1e-300)  # alpha and beta differ by a factor of about a million
    if np.linalg.matrix_rank(relative / scale, tol=1e-9) < 2:
        raise ValueError("Measurements of at least two different sizes are needed to fit alpha and beta.")
    solution, _ = nnls(relative / scale, np.ones(len(relative)))
    alpha, beta = solution / scale
    return float(alpha), float(beta)
