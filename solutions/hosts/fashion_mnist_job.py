"""Train on Fashion-MNIST, and continue where an earlier run with the same folder of checkpoints ended:

    mpirun -np 2 python fashion_mnist_job.py --checkpoints checkpoints

It saves a checkpoint after each epoch. On the signal SIGUSR1, it finishes the current step, saves a checkpoint and ends
with exit status 0. The environment variables DATA and CHECKPOINTS are the defaults of the two folders.
"""

import argparse
import os
import signal

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from course import data

parser = argparse.ArgumentParser(description="Train on Fashion-MNIST in runs that may be interrupted.")
parser.add_argument("--checkpoints", default=os.environ.get("CHECKPOINTS", "checkpoints"), help="all hosts see it")
parser.add_argument("--data-dir", default=os.environ.get("DATA", data.SHIPPED))
parser.add_argument("--batch-size", type=int, default=32, help="images per step on each rank")
parser.add_argument("--epochs", type=int, default=10)
parser.add_argument("--base-lr", type=float, default=0.02, help="learning rate of one rank")
parser.add_argument("--hidden", type=int, default=128, help="units of the hidden layer")
parser.add_argument("--train-samples", type=int, default=None)
parser.add_argument("--test-samples", type=int, default=None)
args = parser.parse_args()

asked_to_end = False


def on_signal(number, frame):
    """Note that the training is asked to end. The loop below looks at this flag between two steps."""
    global asked_to_end
    asked_to_end = True


signal.signal(signal.SIGUSR1, on_signal)
hvd.init()


def load():
    """Return the images, as rows of numbers from 0 to 1, and labels, for training and for testing."""
    for images, labels in data.load(args.data_dir, args.train_samples, args.test_samples):
        yield images.reshape(len(images), -1).astype("float32") / 255, labels


(images, labels), (test_images, test_labels) = load()
steps = len(images) // (args.batch_size * hvd.size())  # of an epoch

model = tf.keras.Sequential([tf.keras.layers.Dense(args.hidden, activation="relu"), tf.keras.layers.Dense(10)])
model.build((None, images.shape[1]))
optimizer = tf.keras.optimizers.SGD(learning_rate=args.base_lr * hvd.size(), momentum=0.9)
optimizer.build(model.trainable_variables)  # its variables are part of the checkpoint, and have to exist before it
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
done = tf.Variable(0, dtype=tf.int64)  # steps, over all epochs

checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, done=done)
manager = tf.train.CheckpointManager(checkpoint, args.checkpoints, max_to_keep=2)

# Rank 0 loads the newest checkpoint, and sends its values to the other ranks.
if hvd.rank() == 0:
    checkpoint.restore(manager.latest_checkpoint)
hvd.broadcast_variables([done, *model.variables, *optimizer.variables], root_rank=0)


@tf.function
def train_step(inputs, targets):
    """Train on this rank's images of a step, and return their loss."""
    with tf.GradientTape() as tape:
        loss = loss_of(targets, model(inputs, training=True))
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    done.assign_add(1)
    return loss


def say(text):
    """Print a line on rank 0 only."""
    if hvd.rank() == 0:
        print(text, flush=True)


epoch, step = divmod(int(done), steps)
say(f"{hvd.size()} ranks start after epoch {epoch} and {step} of {steps} steps")
while int(done) < args.epochs * steps:
    epoch, step = divmod(int(done), steps)
    # The order is the same on all ranks and after each restart; each rank takes its share of every step.
    order = np.random.default_rng(epoch).permutation(len(images))
    chosen = order[step * args.batch_size * hvd.size() :][: args.batch_size * hvd.size()]
    mine = chosen[hvd.rank() :: hvd.size()]
    loss = train_step(images[mine], labels[mine])
    # The signal reaches the ranks at different moments. All ranks end after the first step at which one of them has it.
    asked = hvd.allreduce(tf.constant(float(asked_to_end)), op=hvd.Sum, name="asked to end") > 0
    epoch_ends = step + 1 == steps
    if hvd.rank() == 0 and (epoch_ends or asked):
        manager.save(checkpoint_number=done)  # TensorFlow renames the files when they are complete
    if epoch_ends:
        mean = hvd.allreduce(loss)
        say(f"Epoch {epoch + 1}/{args.epochs}: loss {mean:.4f} in its last step")
    if asked:
        say(f"Asked to end: a checkpoint is saved after epoch {epoch} and {step + 1} of {steps} steps")
        break
else:
    accuracy = np.mean(np.argmax(model(test_images), axis=1) == test_labels)
    say(f"The training has ended: accuracy {accuracy:.3f}, learning rate {args.base_lr:.3g} per rank")
hvd.shutdown()
