"""Train a small network on Fashion-MNIST with Horovod, on hosts that come and go:

    bash launch_elastic.sh hostfile -np 1 --max-np 4 python fashion_mnist_elastic.py

commits.csv in --log-dir gets a line per commit: time, ranks, epoch, images seen in this epoch, mean loss of the steps
since the commit before.
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
parser.add_argument("--log-dir", default="./logs", help="for commits.csv and the trained model")
parser.add_argument("--batch-size", type=int, default=32, help="images per step on each rank")
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--base-lr", type=float, default=0.01, help="learning rate of one rank")
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--weights", default=None, help="a file of numpy.savez with the weights to start from")
parser.add_argument("--commit-steps", type=int, default=20, help="steps from one commit to the next")
parser.add_argument("--data-dir", default=data.SHIPPED)
parser.add_argument("--train-samples", type=int, default=None)
args = parser.parse_args()

hvd.init()

(images, labels), _ = data.load(args.data_dir, args.train_samples)
images = images.reshape(len(images), -1).astype("float32") / 255

model = tf.keras.Sequential([tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(10)])
model.build((None, images.shape[1]))
if args.weights:
    model.set_weights(list(np.load(args.weights).values()))
optimizer = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=args.momentum)
optimizer.build(model.trainable_variables)  # Horovod sends its variables to ranks that join, so they have to exist
losses = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


@tf.function(reduce_retracing=True)
def train_step(inputs, targets, weight):
    """Train on this rank's images of a step, and return the mean loss over the images of all ranks.

    In the last step of an epoch, ranks may have different numbers of images. With the weight size / images of the step,
    each image counts the same in the average over the ranks.
    """
    with tf.GradientTape() as tape:
        loss = weight * tf.reduce_sum(losses(targets, model(inputs, training=True)))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return hvd.allreduce(loss)


def log(state, loss):
    """Append a line to commits.csv, and print one at the end of an epoch."""
    Path(args.log_dir).mkdir(parents=True, exist_ok=True)
    with Path(args.log_dir, "commits.csv").open("a") as file:
        csv.writer(file).writerow([time.time(), hvd.size(), state.epoch, state.seen, float(loss)])
    if state.seen == len(images):
        print(f"Epoch {state.epoch + 1}/{args.epochs}: loss {loss:.4f} in its last steps")


# Step 20: when ranks are lost or join, Horovod calls this function again, with the state of the last commit.
@hvd.elastic.run
def train(state):
    """Continue the training from the state, up to the last epoch."""
    # Step 20: the learning rate follows the number of ranks, which may differ from call to call.
    rate = args.base_lr * hvd.size()
    optimizer.learning_rate.assign(rate)
    if hvd.rank() == 0:
        seen = f"epoch {state.epoch + 1} continues after {state.seen} of {len(images)} images"
        print(f"Size {hvd.size()}, learning rate {rate:.2g}: {seen}")
    while state.epoch < args.epochs:
        recent = []  # losses of the steps since the last commit
        # All ranks have the same order, and each takes its share of every step.
        order = np.random.default_rng(state.epoch).permutation(len(images))
        # Step 20: an epoch continues after the images that were seen, whatever the number of ranks was then.
        for step, start in enumerate(range(state.seen, len(images), args.batch_size * hvd.size()), start=1):
            chosen = order[start : start + args.batch_size * hvd.size()]
            mine = chosen[hvd.rank() :: hvd.size()]
            weight = tf.constant(hvd.size() / len(chosen))
            # Step 20: Horovod 0.28 may not recognise this as a lost rank. After HorovodInternalError it continues.
            try:
                loss = train_step(images[mine], labels[mine], weight)
            except tf.errors.UnknownError as error:
                raise HorovodInternalError(error) from error
            recent.append(loss)
            state.seen = start + len(chosen)
            # Step 20: a commit copies the state in memory, and checks whether hosts have joined.
            if step % args.commit_steps == 0 or state.seen == len(images):
                if hvd.rank() == 0:
                    log(state, np.mean(recent))
                recent = []
                state.commit()
        state.epoch, state.seen = state.epoch + 1, 0


# Step 20: the state holds everything that a rank needs to continue. Ranks that join receive it from rank 0.
train(hvd.elastic.TensorFlowKerasState(model, optimizer, epoch=0, seen=0))
if hvd.rank() == 0:
    model.save(Path(args.log_dir, "model.keras"))
    print("The training has ended.")
