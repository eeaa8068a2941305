"""Train a small network with Horovod. A pause stands for the GPU.

HOROVOD_TIMELINE=timeline.json HOROVOD_CACHE_CAPACITY=0 mpirun -np 2 python train.py
"""

import json
import time

import horovod.tensorflow as hvd
import measure
import tensorflow as tf
from mpi4py import MPI

from course.hunt import spans

STEPS, COMPUTE = 8, 0.1
record = spans.Recorder(MPI.COMM_WORLD)
hvd.init()
tf.keras.utils.set_random_seed(1)
layers = [tf.keras.layers.Dense(units, activation="relu") for units in (400, 400, 10)]
model = tf.keras.Sequential([tf.keras.Input([400]), *layers])
optimizer = tf.keras.optimizers.SGD(0.01)
images, classes = tf.random.normal([32, 400], seed=hvd.rank()), tf.range(32) % 10


@tf.function
def train_step():
    """Update the weights with the mean gradient of all ranks."""
    with tf.GradientTape() as tape:
        scores = model(images)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(classes, scores))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


train_step()  # traces the function
MPI.COMM_WORLD.Barrier()
before = measure.received()
for step in range(STEPS):
    with record("compute", step):
        time.sleep(COMPUTE)
    with record("exchange", step):
        train_step()
MPI.COMM_WORLD.Barrier()
bytes_per_step = (measure.received() - before) / STEPS
hvd.stop_timeline()
found = record.gather()
sums = MPI.COMM_WORLD.gather([float(tf.reduce_sum(each)) for each in model.trainable_variables])
hvd.shutdown()
if MPI.COMM_WORLD.rank == 0:
    spans.write(found, "spans.json")
    result = {
        "ranks": len(sums),
        "same_weights": all(each == sums[0] for each in sums),
        "bytes_per_weight": round(bytes_per_step / model.count_params(), 1),
        "exchanges_per_step": round(measure.exchanges() / (STEPS + 1), 1),
    }
    print(json.dumps(result), flush=True)
