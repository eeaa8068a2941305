"""Train a dense network on MNIST with Keras and Horovod, in one process or in many.

    mpirun -np 2 python mnist_horovod.py --epochs 3

The images are MNIST's, or others in the same files: Fashion-MNIST's, unless --data-dir names a folder.
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import horovod.tensorflow.keras as hvd
import numpy as np
import tensorflow as tf
from course import data
from tensorflow.keras import layers
from tensorflow.keras.callbacks import ModelCheckpoint, TensorBoard

parser = argparse.ArgumentParser(
    description="Train a dense network on MNIST.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
)
parser.add_argument("--data-dir", default=data.SHIPPED, help="folder with MNIST's four files")
parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints and logs, which all workers see")
parser.add_argument("--batch-size", type=int, default=64, help="batch size of each worker")
parser.add_argument("--epochs", type=int, default=10, help="epochs to train for")
parser.add_argument("--lr", type=float, default=0.001, help="learning rate of Adam")
parser.add_argument("--train-samples", type=int, help="use the first so many images, those held out included")
parser.add_argument("--seed", type=int, help="make the run repeatable (the same number for all processes)")
args = parser.parse_args()

hvd.init()

# One GPU per process. The local rank counts the processes of this host, as GPU numbers count its GPUs. Some
# launchers, such as srun --gpus-per-task=1, show each process one GPU only: its number is then 0, whatever the rank.
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    gpu = gpus[0] if len(gpus) == 1 else gpus[hvd.local_rank()]
    tf.config.set_visible_devices(gpu, "GPU")

if args.seed is not None:
    tf.keras.utils.set_random_seed(args.seed)

# --- Data -------------------------------------------------------------------------------------------------------------

(images, labels), _ = data.load(args.data_dir, args.train_samples)
images = images.reshape(-1, 784).astype(np.float32) / 255
held_out = len(images) // 6  # for validation: 10,000 of MNIST's 60,000

batch_size = args.batch_size * hvd.size()  # of all processes together


def dataset_of(images, labels):
    """Return batches of images with their labels, over and over, each time in another order."""
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    # The seed is the same everywhere: processes that share out images have to agree on their order.
    dataset = dataset.shuffle(len(images), seed=0).repeat().shard(hvd.size(), hvd.rank())
    return dataset.batch(args.batch_size)


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
        optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(args.lr)),
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


model = make_or_restore_model()

# --- Training ---------------------------------------------------------------------------------------------------------

callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),
    hvd.callbacks.MetricAverageCallback(),
]
if hvd.rank() == 0:
    callbacks += [
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
    verbose=1 if hvd.rank() == 0 else 0,
)
