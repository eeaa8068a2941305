"""Steps 1 to 6: fashion_mnist.py, from one process to many with Horovod."""

from grader.checks.horovod import epochs, ranks, updates
from grader.checks.horovod.fashion_mnist import part

__all__ = ["epochs", "part", "ranks", "updates"]
