"""Train a dense network on MNIST with Keras.

    python mnist_multi_worker.py --epochs 3

The images are MNIST's, or others in the same files: Fashion-MNIST's, unless --data-dir names a folder.
"""

import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import numpy as np
import tensorflow as tf
from course import data, tf_config
from tensorflow.keras import layers
from tensorflow.keras.callbacks import BackupAndRestore, ModelCheckpoint, TensorBoard

parser = argparse.ArgumentParser(
    description="Train a dense network on MNIST.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
)
parser.add_argument("--data-dir", default=data.SHIPPED, help="folder with MNIST's four files")
parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints and logs, which all workers see")
parser.add_argument("--batch-size", type=int, default=64, help="batch size of each worker")
parser.add_argument("--epochs", type=int, default=10, help="epochs to train for")
parser.add_argument("--lr", type=float, default=0.001, help="learning rate of Adam")
parser.add_argument("--communication", choices=["AUTO", "RING", "NCCL"], default="AUTO", help="how workers sum tensors")
parser.add_argument("--save-freq", type=int, default=50, help="steps between checkpoints, and backups")
parser.add_argument("--train-samples", type=int, help="use the first so many images, those held out included")
parser.add_argument("--seed", type=int, help="make the run repeatable (the same number for all workers)")
args = parser.parse_args()

# Step 13: all workers run this program. TF_CONFIG says which task this process is, and where all tasks are:
#   TF_CONFIG='{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, "task": {"type": "worker", "index": 0}}'
# If it is wrong, TensorFlow waits indefinitely. check() ends the process with a message instead.
_, index = tf_config.check()
chief = index == 0

# Step 13: before any other call of TensorFlow. The strategy makes this process a server, which the other workers wait
# for. With its first tensor, TensorFlow fixes its list of devices, which would lack those of the other workers.
strategy = tf.distribute.MultiWorkerMirroredStrategy(
    communication_options=tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation[args.communication]
    )
)

if args.seed is not None:
    tf.keras.utils.set_random_seed(args.seed)

# Step 14: the chief keeps checkpoints and logs. The others take part in saving, since some variables may be gathered
# from all workers, and write to a temporary folder.
thrown_away = tempfile.TemporaryDirectory()
log_dir = args.log_dir if chief else thrown_away.name

# --- Data -------------------------------------------------------------------------------------------------------------

(images, labels), _ = data.load(args.data_dir, args.train_samples)
images = images.reshape(-1, 784).astype(np.float32) / 255
held_out = len(images) // 6  # for validation: 10,000 of MNIST's 60,000

# Step 13: Keras wants the batch size of all workers together, of which each takes its part.
batch_size = args.batch_size * strategy.num_replicas_in_sync


def dataset_of(images, labels):
    """Return batches of images with their labels, over and over, each time in another order."""
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    # The seed is the same everywhere: workers that share out batches have to agree on what is in them.
    dataset = dataset.shuffle(len(images), seed=0).repeat().batch(batch_size)
    # Step 13: shard by image, not by file. By default, TensorFlow looks for files first.
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return dataset.with_options(options)


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


# Step 13: variables that are made here, the optimizer's too, are equal on all workers from the start.
with strategy.scope():
    model = make_or_restore_model()

# --- Training ---------------------------------------------------------------------------------------------------------

callbacks = [
    # Step 14: save by steps, since an epoch may take hours.
    ModelCheckpoint(f"{log_dir}/checkpoints/after-{{epoch}}", save_weights_only=True, save_freq=args.save_freq),
    TensorBoard(f"{log_dir}/tensorboard"),
    # Step 14: all workers resume from one backup. It is deleted when training has ended.
    BackupAndRestore(f"{args.log_dir}/backup", save_freq=args.save_freq),
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
    # Step 13: the chief alone reports.
    verbose=1 if chief else 0,
)

# Step 14: save the steps since the last checkpoint, too.
model.save_weights(f"{log_dir}/checkpoints/after-{args.epochs}")
