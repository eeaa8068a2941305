"""Train on Fashion-MNIST on hosts that come and go, with elastic Horovod:

    horovodrun --gloo -np 2 --min-np 1 --max-np 4 --host-discovery-script ./discover.sh python fashion_mnist_elastic.py

When a host is lost, the ranks that are left go back to the last commit and continue without it. When one joins, all
continue where they are, after the next commit.
"""

import argparse
import csv
import time
from pathlib import Path

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf
from horovod.common.exceptions import HorovodInternalError

from course import data

parser = argparse.ArgumentParser(description="Train on Fashion-MNIST on hosts that come and go.")
parser.add_argument("--log-dir", default="./logs", help="commits.csv is written here: a line for each commit")
parser.add_argument("--batch-size", type=int, default=32, help="images per step on each rank")
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--base-lr", type=float, default=0.02, help="learning rate of one rank")
parser.add_argument("--commit-steps", type=int, default=20, help="steps from one commit to the next")
parser.add_argument("--data-dir", default=data.SHIPPED)
parser.add_argument("--train-samples", type=int, default=None)
args = parser.parse_args()

hvd.init()

(images, labels), _ = data.load(args.data_dir, args.train_samples)
images = images.reshape(len(images), -1).astype("float32") / 255

model = tf.keras.Sequential([tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(10)])
model.build((None, images.shape[1]))
optimizer = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=0.9)
optimizer.build(model.trainable_variables)  # its variables are part of the state, and have to exist before it
losses = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


@tf.function(reduce_retracing=True)
def train_step(inputs, targets, weight):
    """Train on this rank's images of a step, and return the mean loss of all ranks' images.

    An epoch's last step may have fewer images, and not as many on each rank. So each image has the same weight, and
    the average over the ranks is the mean over the images.
    """
    with tf.GradientTape() as tape:
        loss = weight * tf.reduce_sum(losses(targets, model(inputs, training=True)))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return hvd.allreduce(loss)


def log(state, loss):
    """Append a line to commits.csv: time, ranks, epoch, images seen in it, loss."""
    Path(args.log_dir).mkdir(parents=True, exist_ok=True)
    with Path(args.log_dir, "commits.csv").open("a") as file:
        csv.writer(file).writerow([time.time(), hvd.size(), state.epoch, state.seen, float(loss)])


@hvd.elastic.run
def train(state):
    """Train to the end, from the state on. It is called again when the ranks have changed."""
    rate = args.base_lr * hvd.size()
    optimizer.learning_rate.assign(rate)
    if hvd.rank() == 0:
        seen = f"epoch {state.epoch + 1} continues after {state.seen} of {len(images)} images"
        print(f"{hvd.size()} ranks, learning rate {rate:.2g}: {seen}")
    while state.epoch < args.epochs:
        # All ranks have the same order, also those that join later, and each takes its share of every step.
        order = np.random.default_rng(state.epoch).permutation(len(images))
        for _ in range(args.commit_steps):
            chosen = order[state.seen : state.seen + args.batch_size * hvd.size()]
            mine = chosen[hvd.rank() :: hvd.size()]
            weight = tf.constant(hvd.size() / len(chosen))
            try:
                loss = train_step(images[mine], labels[mine], weight)
            except tf.errors.UnknownError as error:
                # Horovod 0.28 takes some of these errors for the end of the training, and returns.
                raise HorovodInternalError(error) from error
            state.seen += len(chosen)
            if state.seen == len(images):
                break
        if hvd.rank() == 0:
            log(state, loss)
        if state.seen == len(images):
            if hvd.rank() == 0:
                print(f"Epoch {state.epoch + 1}/{args.epochs}: loss {loss:.4f} in its last step")
            state.epoch, state.seen = state.epoch + 1, 0
        state.commit()  # keeps a copy in memory, and sees whether hosts have come


train(hvd.elastic.TensorFlowKerasState(model, optimizer, epoch=0, seen=0))
if hvd.rank() == 0:
    model.save(Path(args.log_dir, "model.keras"))
    print("The training has ended.")
