"""Job 2: all ranks train, and rank 0 reports the loss after each epoch.

Start it with: mpirun -np 3 python job_2.py
"""

import faulthandler
import signal

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf


def mean_loss():
    """Return the loss on the images of all ranks."""
    return hvd.allreduce(model.evaluate(images, images, verbose=0))


faulthandler.register(signal.SIGUSR1)  # kill -USR1 PID prints where the process is
hvd.init()
images = np.random.default_rng(hvd.rank()).random((64, 20), dtype="float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(20)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]

for epoch in range(2):
    model.fit(images, images, callbacks=callbacks, verbose=0)
    if hvd.rank() == 0:
        print("loss after epoch", epoch, mean_loss())
    largest = hvd.allgather(model.predict(images, verbose=0).max(axis=1))
    print("the largest output on all ranks:", max(largest))
