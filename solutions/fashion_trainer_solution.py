"""Train a small network on Fashion-MNIST with Keras and Horovod, one process per GPU or core; resume after a kill.

    python fashion_trainer.py --hidden 64 --epochs 3 --train-samples 1200
    mpirun -np 4 python fashion_trainer.py …                                                      # 4 on one host
    mpirun -np 8 --host a:4,b:4 --bind-to none --map-by slot -x PATH python fashion_trainer.py …  # on 2 hosts

After each epoch rank 0 saves the model in --log-dir, as checkpoint-1.h5, checkpoint-2.h5 and so on. Started again, all
ranks resume from the newest of them. Only rank 0's host needs the file.
"""

import argparse
import os
import re
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import horovod.tensorflow.keras as hvd
import tensorflow as tf
from course import data
from horovod.tensorflow import broadcast_object

warnings.filterwarnings("ignore", "You are saving your model as an HDF5 file")

parser = argparse.ArgumentParser(
    description="Train a small network on Fashion-MNIST.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
)
parser.add_argument("--data-dir", default=data.SHIPPED, help="folder with the four Fashion-MNIST files")
parser.add_argument("--train-samples", type=int, help="train on this many images only")
parser.add_argument("--test-samples", type=int, help="validate on this many images only")
parser.add_argument("--batch-size", type=int, default=10, help="training images per step, of each process")
parser.add_argument("--val-batch-size", type=int, default=100, help="validation images per step, of each process")
parser.add_argument("--hidden", type=int, default=128, help="units of the hidden layer")
parser.add_argument("--rate", type=float, default=0.004, help="learning rate of one process")
parser.add_argument("--epochs", type=int, default=20, help="maximum number of epochs")
parser.add_argument("--target", type=float, default=0.9, help="validation accuracy to stop at")
parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints and TensorBoard logs")
parser.add_argument("--seed", type=int, help="make the run repeatable")


class Keeper(tf.keras.callbacks.Callback):
    """Save the whole model after each epoch."""

    def __init__(self, folder):
        """Save into this folder."""
        super().__init__()
        self.folder = Path(folder)

    def on_epoch_end(self, epoch, logs=None):
        """Save the model, under the number of epochs that it has been trained for."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # The file gets a checkpoint's name only when it is complete. A kill in mid-write leaves partial.h5.
        partial = self.folder / "partial.h5"
        self.model.save(partial, save_format="h5")
        partial.replace(checkpoint(self.folder, epoch + 1))


class Target(tf.keras.callbacks.Callback):
    """End training after the first epoch whose validation accuracy reaches a target."""

    def __init__(self, accuracy):
        """Let accuracy be the target, from 0 to 1."""
        super().__init__()
        self.accuracy = accuracy

    def on_epoch_end(self, epoch, logs=None):
        """Compare the epoch's accuracy with the target."""
        self.model.stop_training = logs["val_accuracy"] >= self.accuracy


def checkpoint(folder, epochs):
    """Return the path of the checkpoint after this number of epochs."""
    return Path(folder, f"checkpoint-{epochs}.h5")


def newest(folder):
    """Return after how many epochs the newest checkpoint in a folder was saved, or 0 if there is none."""
    names = [re.fullmatch(r"checkpoint-(\d+)\.h5", path.name) for path in Path(folder).glob("checkpoint-*.h5")]
    return max((int(name[1]) for name in names if name), default=0)


def pin_gpu():
    """Let this process see one GPU only: that of its local rank, or the only one that the launcher shows it."""
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return
    gpu = gpus[0] if len(gpus) == 1 else gpus[hvd.local_rank()]
    tf.config.set_visible_devices(gpu, "GPU")
    tf.config.experimental.set_memory_growth(gpu, True)


def load(directory, train_samples, test_samples):
    """Return this rank's share of the images, and labels, of training and of validation.

    Images are float32 of shape (n, 28, 28, 1), from 0 to 1.
    """
    halves = []
    for images, labels in data.load(directory, train_samples, test_samples):
        # All shares have the same length. Otherwise one rank would take one more step than the others, and wait.
        share = len(images) // hvd.size()
        own = slice(hvd.rank() * share, (hvd.rank() + 1) * share)
        images, labels = images[own], labels[own]
        halves.append((images[..., None].astype("float32") / 255, labels))
    return halves


def new_model(args):
    """Return the network, compiled."""
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Flatten(input_shape=(28, 28, 1)),
            tf.keras.layers.Dense(args.hidden, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    # A step averages over size() times as many images, and an epoch has size() times fewer steps. So steps are
    # size() times as long.
    optimizer = tf.keras.optimizers.SGD(learning_rate=args.rate * hvd.size())
    model.compile(hvd.DistributedOptimizer(optimizer), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def load_model(folder, epochs):
    """Load rank 0's checkpoint after this number of epochs, on every rank, from the bytes of the file."""
    saved = checkpoint(folder, epochs).read_bytes() if hvd.rank() == 0 else None
    with tempfile.NamedTemporaryFile(suffix=".h5") as file:
        file.write(broadcast_object(saved, root_rank=0))
        file.flush()
        return hvd.load_model(file.name)


def train(args):
    """Train, from the newest checkpoint if there is one, and return the accuracy of the last epoch."""
    (images, labels), validation = load(args.data_dir, args.train_samples, args.test_samples)
    # Only rank 0 saves checkpoints, so only rank 0 looks for one. All ranks resume from its epoch.
    done = broadcast_object(newest(args.log_dir) if hvd.rank() == 0 else None, root_rank=0)
    model = load_model(args.log_dir, done) if done else new_model(args)
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
        Target(args.target),
    ]
    if hvd.rank() == 0:
        callbacks += [tf.keras.callbacks.TensorBoard(args.log_dir), Keeper(args.log_dir)]
    fit = model.fit(
        images,
        labels,
        batch_size=args.batch_size,
        initial_epoch=done,
        epochs=args.epochs,
        validation_data=validation,
        validation_batch_size=args.val_batch_size,
        callbacks=callbacks,
        verbose=2 if hvd.rank() == 0 else 0,
    )
    return fit.history.get("val_accuracy", [None])[-1]


if __name__ == "__main__":
    hvd.init()
    arguments = parser.parse_args()
    pin_gpu()
    if arguments.seed is not None:
        tf.keras.utils.set_random_seed(arguments.seed + hvd.rank())
    reached = train(arguments)
    if hvd.rank() == 0:
        print(f"Validation accuracy of the last epoch: {reached}")
