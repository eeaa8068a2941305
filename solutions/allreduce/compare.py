"""Train two copies of a network, one with an allreduce of your own and one with Horovod's, and compare their weights.

mpirun -np 2 python compare.py allreduce.py
"""

import importlib.util
import sys

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from mpi4py import MPI

from course import data

STEPS, BATCH = 40, 32

spec = importlib.util.spec_from_file_location("allreduce", sys.argv[1])
own = importlib.util.module_from_spec(spec)
spec.loader.exec_module(own)

comm = MPI.COMM_WORLD
hvd.init()
(images, labels), _ = data.load(data.SHIPPED, STEPS * BATCH * comm.size)
images = images.reshape(len(images), -1)[comm.rank :: comm.size].astype("float32") / 255
labels = labels[comm.rank :: comm.size]
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def network():
    """Return a small network with the same weights on all ranks."""
    tf.keras.utils.set_random_seed(1)
    layers = [tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)]
    model = tf.keras.Sequential(layers)
    model.build((None, images.shape[1]))
    return model


def averaged(gradient):
    """Return the mean of a gradient over all ranks, by an allreduce of your own."""
    flat = gradient.numpy().ravel()
    own.allreduce(comm, flat, out=flat)
    return flat.reshape(gradient.shape) / comm.size


averages = {"your own": averaged, "Horovod": hvd.allreduce}
weights = {}
for name, average in averages.items():
    model, optimizer = network(), tf.keras.optimizers.SGD(0.1)
    start = np.concatenate([weight.numpy().ravel() for weight in model.trainable_variables])
    for first in range(0, STEPS * BATCH, BATCH):
        with tf.GradientTape() as tape:
            error = loss(labels[first : first + BATCH], model(images[first : first + BATCH]))
        gradients = tape.gradient(error, model.trainable_variables)
        gradients = [average(gradient) for gradient in gradients]
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    weights[name] = np.concatenate([weight.numpy().ravel() for weight in model.trainable_variables])
    if comm.rank == 0:
        print(f"{name}: loss {error:.4f}, weights moved by up to {np.abs(weights[name] - start).max():.3f}")
if comm.rank == 0:
    difference = np.abs(weights["your own"] - weights["Horovod"]).max()
    print(f"largest difference between the weights of the two: {difference:.1e}")
