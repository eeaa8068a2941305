"""Job 1: each rank trains on its share of the images, and leaves out those that are damaged.

Start it with: mpirun -np 3 python job_1.py
"""

import faulthandler
import signal

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf

faulthandler.register(signal.SIGUSR1)  # kill -USR1 PID prints where the process is
hvd.init()
images = np.random.default_rng(0).random((192, 20), dtype="float32")
images[[1, 40, 76, 100, 130]] = np.nan  # damaged

share = images[hvd.rank() :: hvd.size()]
whole = share[~np.isnan(share).any(axis=1)]

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(20)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
model.fit(whole, whole, batch_size=12, epochs=2, callbacks=callbacks, verbose=0)

counts = hvd.allgather([len(whole)])
if hvd.rank() == 0:
    print("images per rank:", counts)
