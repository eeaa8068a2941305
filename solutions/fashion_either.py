"""Train a network with a shortcut on Fashion-MNIST with Keras, in one process on one device, and resume after a kill.

    python fashion_either.py
    python fashion_either.py --hidden 64 --epochs 3 --train-samples 1440

The model is saved at the end, as model.keras in --log-dir. A training that is killed and started again continues after
the last epoch that it had finished.
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import data

parser = argparse.ArgumentParser(
    description="Train a network with a shortcut on Fashion-MNIST.",
    formatter_class=argparse.ArgumentDefaultsHelpFormatter,
)
parser.add_argument("--data-dir", default=data.SHIPPED, help="folder with the four Fashion-MNIST files")
parser.add_argument("--train-samples", type=int, help="use the first of the images only, those held out included")
parser.add_argument("--batch-size", type=int, default=10, help="images per step, of each worker")
parser.add_argument("--hidden", type=int, default=256, help="units of each hidden layer")
parser.add_argument("--rate", type=float, default=0.01, help="learning rate of one process")
parser.add_argument("--epochs", type=int, default=10, help="epochs to train for")
parser.add_argument("--log-dir", default="./logs", help="folder for the model, the backup and TensorBoard's logs")


def load(args):
    """Return the images and labels to train on, and those held out, a sixth; images are float32 (n, 784), 0 to 1."""
    (images, labels), _ = data.load(args.data_dir, args.train_samples)
    images = images.reshape(-1, 784).astype("float32") / 255
    held_out = len(images) // 6
    return (images[held_out:], labels[held_out:]), (images[:held_out], labels[:held_out])


def batches(images, labels, batch_size):
    """Return batches of images with their labels, over and over, each time in another order."""
    return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images)).repeat().batch(batch_size)


def new_model(hidden, rate):
    """Build and compile the network: two hidden layers, of which the second adds to what the first one found."""
    inputs = tf.keras.Input((784,))
    first = tf.keras.layers.Dense(hidden, activation="relu")(inputs)
    second = tf.keras.layers.Dense(hidden, activation="relu")(first)
    outputs = tf.keras.layers.Dense(10)(first + second)
    model = tf.keras.Model(inputs, outputs)
    model.compile(
        optimizer=tf.keras.optimizers.SGD(rate),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def train(args):
    """Train and save the model, and return its accuracy on the images held out after the last epoch."""
    training, validation = load(args)
    model = new_model(args.hidden, args.rate)
    fit = model.fit(
        batches(*training, args.batch_size),
        # The data repeat endlessly, so fit() needs the number of steps in one pass over them.
        steps_per_epoch=len(training[0]) // args.batch_size,
        epochs=args.epochs,
        callbacks=[
            tf.keras.callbacks.TensorBoard(f"{args.log_dir}/tensorboard"),
            tf.keras.callbacks.BackupAndRestore(f"{args.log_dir}/backup"),
        ],
        validation_data=batches(*validation, args.batch_size),
        validation_steps=len(validation[0]) // args.batch_size,
        verbose=2,
    )
    model.save(f"{args.log_dir}/model.keras")
    return fit.history.get("val_accuracy", [None])[-1]


if __name__ == "__main__":
    print(f"Validation accuracy of the last epoch: {train(parser.parse_args())}")
