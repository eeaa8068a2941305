"""What a step of the training consists of. Pauses stand for the storage and for the GPU; the exchange is real."""

import time

import numpy as np
from mpi4py import MPI

from course.hunt import spans

BATCHES = 40
READ, COMPUTE = 0.1, 0.12  # seconds
comm = MPI.COMM_WORLD
record = spans.Recorder(comm)
used = []  # the numbers of the batches that this rank has trained on


def read(number):
    """Return a batch from the storage."""
    with record("input", number // comm.size):
        time.sleep(READ)
    return np.full(1000, number, "float32")


def compute(batch):
    """Return the gradient of a batch."""
    number = int(batch[0])
    with record("compute", number // comm.size):
        time.sleep(COMPUTE)
    used.append(number)
    return batch * 0.001
