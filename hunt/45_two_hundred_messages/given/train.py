"""Train with Horovod on two hosts. A pause stands for the GPU; the gradients are really exchanged.

HOROVOD_TIMELINE=timeline.json HOROVOD_CACHE_CAPACITY=0 mpirun -np 2 python train.py
"""

import json
import os
import time

import horovod.tensorflow as hvd
import tensorflow as tf
from mpi4py import MPI

from course.hunt import spans

STEPS, LAYERS, SIZE, COMPUTE = 8, 200, 1000, 0.1  # SIZE: numbers in the gradient of a layer
record = spans.Recorder(MPI.COMM_WORLD)
tf.config.threading.set_inter_op_parallelism_threads(1)
hvd.init()
gradients = [tf.ones(SIZE) for _ in range(LAYERS)]


@tf.function
def exchange(gradients):
    """Return the mean of each gradient over all ranks."""
    return [hvd.allreduce(each, name=f"layer_{number}") for number, each in enumerate(gradients)]


def messages():
    """Return how many messages a step had, by Horovod's timeline: gradients in one message are exchanged together."""
    from course.figures import read_timeline

    found, last = 0, 0.0
    for each in sorted(read_timeline(os.environ["HOROVOD_TIMELINE"]), key=lambda each: each.start):
        found += each.start >= last
        last = max(last, each.end)
    return found / (STEPS + 1)


exchange(gradients)  # traces the function
for step in range(STEPS):
    with record("compute", step):
        time.sleep(COMPUTE)
    with record("exchange", step):
        gradients = exchange(gradients)
hvd.stop_timeline()
found = record.gather()
hvd.shutdown()
if MPI.COMM_WORLD.rank == 0:
    spans.write(found, "spans.json")
    share = spans.share(found, "exchange")
    result = {"ranks": MPI.COMM_WORLD.size, "messages_per_step": round(messages(), 1), "exchange": round(share, 2)}
    print(json.dumps(result), flush=True)
