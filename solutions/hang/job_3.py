"""Job 3: rank 0 cuts the images into files, and each rank trains on one of them.

Start it with: mpirun -np 3 python job_3.py
"""

import faulthandler
import signal
import time
from pathlib import Path

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

faulthandler.register(signal.SIGUSR1)  # kill -USR1 PID prints where the process is
hvd.init()
folder = Path("logs", "chunks")
if hvd.rank() == 0:
    folder.mkdir(parents=True, exist_ok=True)
    images = np.random.default_rng(0).random((160, 20), dtype="float32")
    for number in range(len(images) // 64):
        np.save(folder / "part.npy", images[64 * number : 64 * (number + 1)])
        (folder / "part.npy").rename(folder / f"{number}.npy")  # no rank finds half a file

chunk = folder / f"{hvd.rank()}.npy"
while not chunk.exists():
    time.sleep(0.1)
images = np.load(chunk)

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(20)])
model.build((None, 20))
hvd.broadcast_variables(model.variables, root_rank=0)
loss = hvd.allreduce(tf.reduce_mean((model(images) - images) ** 2))
print("loss:", float(loss))
