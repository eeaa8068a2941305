"""Train on the images of the scanner. Each rank has a share of them: mpirun -np 4 python train.py."""

import json

import images
import numpy as np
from mpi4py import MPI

BATCH, IMAGES, RATE = 20, 800, 0.05
comm = MPI.COMM_WORLD
pixels, classes = images.load()

sound = np.isfinite(pixels).all(axis=1)
pixels, classes = pixels[sound], classes[sound]

share = len(pixels) // comm.size
mine = slice(comm.rank * share, (comm.rank + 1) * share)
own_pixels, own_classes = pixels[mine], classes[mine]

weights = np.zeros((64, images.CLASSES))
trained_on = 0
for step in range(IMAGES // BATCH // comm.size):
    batch = slice(step * BATCH, (step + 1) * BATCH)
    x, y = own_pixels[batch], own_classes[batch]
    scores = np.exp(x @ weights)
    probabilities = scores / scores.sum(axis=1, keepdims=True)
    loss = np.array([-np.log(probabilities[range(len(y)), y]).mean()])
    trained_on += len(y) * int(np.isfinite(loss[0]))
    gradient = x.T @ (probabilities - np.eye(images.CLASSES)[y]) / len(y)
    comm.Allreduce(MPI.IN_PLACE, gradient)
    comm.Allreduce(MPI.IN_PLACE, loss)
    weights -= RATE * gradient / comm.size
    if comm.rank == 0:
        print(f"step {step + 1}: loss {loss[0] / comm.size:.3f}", flush=True)

trained_on = comm.reduce(trained_on)
if comm.rank == 0:
    result = {"ranks": comm.size, "images": trained_on, "finite": bool(np.isfinite(weights).all())}
    print(json.dumps(result | {"loss": round(loss[0] / comm.size, 3)}), flush=True)
