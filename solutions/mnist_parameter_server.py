"""Train a dense network on MNIST with Keras, as the coordinator of workers and parameter servers.

    python -m course cluster ps=worker_and_ps.py worker:2=worker_and_ps.py chief="mnist_parameter_server.py --epochs 3"

The images are MNIST's, or others in the same files: Fashion-MNIST's, unless --data-dir names a folder.
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

os.environ["GRPC_FAIL_FAST"] = "use_caller"  # a process that is gone gives an error at once

import numpy as np
import tensorflow as tf
from course import data, tf_config
from tensorflow.keras import layers
from tensorflow.keras.callbacks import ModelCheckpoint, TensorBoard
from tensorflow.keras.utils.experimental import DatasetCreator

parser = argparse.ArgumentParser(
    description="Train a dense network on MNIST.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
)
parser.add_argument("--data-dir", default=data.SHIPPED, help="folder with MNIST's four files")
parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints and logs, which all workers see")
parser.add_argument("--batch-size", type=int, default=64, help="batch size of each worker")
parser.add_argument("--epochs", type=int, default=10, help="epochs to train for")
parser.add_argument("--lr", type=float, default=0.001, help="learning rate of Adam")
parser.add_argument("--train-samples", type=int, help="use the first so many images, those held out included")
args = parser.parse_args()

tf_config.check()  # if TF_CONFIG is wrong, this ends the process; TensorFlow would wait indefinitely

tf.config.set_visible_devices([], "GPU")  # the coordinator computes nothing: GPUs are the workers'

strategy = tf.distribute.ParameterServerStrategy(
    tf.distribute.cluster_resolver.TFConfigClusterResolver(),
    variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(256 << 10, max_shards=1),
)

# --- Data -------------------------------------------------------------------------------------------------------------

(images, labels), _ = data.load(args.data_dir, args.train_samples)
images = images.reshape(-1, 784).astype(np.float32) / 255
held_out = len(images) // 6  # for validation: 10,000 of MNIST's 60,000

batch_size = args.batch_size  # of a step, which one worker does by itself


def dataset_of(images, labels):
    """Return what makes, on each worker, batches of images with their labels, over and over, in an order of its own."""

    def make(context):
        dataset = tf.data.Dataset.from_tensor_slices((images, labels))
        return dataset.shuffle(len(images)).repeat().batch(batch_size)

    return DatasetCreator(make)


train_data = dataset_of(images[held_out:], labels[held_out:])
val_data = dataset_of(images[:held_out], labels[:held_out])

# The data repeat endlessly, so fit() needs the number of steps in one pass over them.
steps_per_epoch = (len(images) - held_out) // batch_size
validation_steps = held_out // batch_size

# --- Model ------------------------------------------------------------------------------------------------------------


def make_model():
    """Build and compile the network: two hidden layers, and a score for each digit."""
    model = tf.keras.Sequential(
        [
            layers.Dense(256, activation="relu", input_shape=(784,)),
            layers.Dense(256, activation="relu"),
            layers.Dense(10),
        ]
    )
    model.compile(
        optimizer=tf.keras.optimizers.Adam(args.lr),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def make_or_restore_model():
    """Return a new model, or where there is a checkpoint, one with the weights and the optimizer of the newest."""
    model = make_model()
    newest = tf.train.latest_checkpoint(f"{args.log_dir}/checkpoints")
    if newest:
        model.load_weights(newest)
    return model


with strategy.scope():  # variables that are made here, the optimizer's too, are kept by the parameter servers
    model = make_or_restore_model()

# --- Training ---------------------------------------------------------------------------------------------------------

callbacks = [
    ModelCheckpoint(f"{args.log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True),
    TensorBoard(f"{args.log_dir}/tensorboard"),
]

model.fit(
    train_data,
    steps_per_epoch=steps_per_epoch,
    # A checkpoint restores the optimizer's count of steps.
    initial_epoch=int(model.optimizer.iterations.numpy()) // steps_per_epoch,
    epochs=args.epochs,
    callbacks=callbacks,
    validation_data=val_data,
    validation_steps=validation_steps,
    verbose=2,  # a line for each epoch: no process waits for the end of a single step
)
