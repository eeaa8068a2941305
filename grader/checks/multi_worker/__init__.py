"""Steps 13 and 14: mnist_multi_worker.py, several workers and the death of one of them."""

from grader.checks.multi_worker import batches, restart, workers
from grader.checks.multi_worker.mnist_multi_worker import part

__all__ = ["batches", "part", "restart", "workers"]
