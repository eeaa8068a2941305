"""Train a small network on Fashion-MNIST with Keras, in one process on one device, and resume after a kill.

    python fashion_trainer.py
    python fashion_trainer.py --hidden 64 --epochs 3 --train-samples 1200

After each epoch the model is saved in --log-dir, as checkpoint-1.h5, checkpoint-2.h5 and so on. Started again, training
resumes from the newest of them.
"""

import argparse
import os
import re
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import data

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
        self.model.save(checkpoint(self.folder, epoch + 1), save_format="h5")


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


def load(directory, train_samples, test_samples):
    """Return the images, as float32 of shape (n, 28, 28, 1) from 0 to 1, and labels, of training and of validation."""
    halves = []
    for images, labels in data.load(directory, train_samples, test_samples):
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
    optimizer = tf.keras.optimizers.SGD(learning_rate=args.rate)
    model.compile(optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def train(args):
    """Train, from the newest checkpoint if there is one, and return the accuracy of the last epoch."""
    (images, labels), validation = load(args.data_dir, args.train_samples, args.test_samples)
    done = newest(args.log_dir)
    model = tf.keras.models.load_model(checkpoint(args.log_dir, done)) if done else new_model(args)
    fit = model.fit(
        images,
        labels,
        batch_size=args.batch_size,
        initial_epoch=done,
        epochs=args.epochs,
        validation_data=validation,
        validation_batch_size=args.val_batch_size,
        callbacks=[Target(args.target), tf.keras.callbacks.TensorBoard(args.log_dir), Keeper(args.log_dir)],
        verbose=2,
    )
    return fit.history.get("val_accuracy", [None])[-1]


if __name__ == "__main__":
    arguments = parser.parse_args()
    if arguments.seed is not None:
        tf.keras.utils.set_random_seed(arguments.seed)
    print(f"Validation accuracy of the last epoch: {train(arguments)}")
