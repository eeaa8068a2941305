"""Predict the seconds of a training step on any number of ranks, from allreduces that were measured on a few.

`fit` finds the latency of a network, and its seconds per byte. `step_seconds` uses both.
"""


def messages(ranks, algorithm="ring"):
    """Return how many messages of an allreduce have to wait for each other, and the share of the array in each one."""
    # TODO: Step 22: return both for "ring", "gather_and_broadcast", "tree" and "recursive_doubling".
    return 0, 0


def fit(measured):
    """Return alpha in seconds, and beta in seconds per byte, that describe measurements best.

    Args:
        measured: bytes, ranks and seconds of each allreduce, which goes over a ring.
    """
    # TODO: Step 22: find both by least squares: each measurement is one equation.
    return 0.0, 0.0


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
    # TODO: Step 22: add the part of the allreduce that the computation does not hide.
    return compute
