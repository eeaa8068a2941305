"""Train a multilayer perceptron on Fashion-MNIST with Keras and tf.data, in one process on one device.

    python fashion_mlp.py
    python fashion_mlp.py --hidden 64 --epochs 3 --train-samples 1200

The network has one hidden layer. Training ends after the first epoch whose validation accuracy reaches a target.
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's start-up notes, not its warnings; set before import

import tensorflow as tf
from course import data


class StopAt(tf.keras.callbacks.Callback):
    """End training after the first epoch whose validation accuracy reaches a target."""

    def __init__(self, accuracy):
        """Let accuracy be the target, from 0 to 1."""
        super().__init__()
        self.accuracy = accuracy

    def on_epoch_end(self, epoch, logs=None):
        """Compare the epoch's accuracy with the target."""
        if logs["val_accuracy"] >= self.accuracy:
            self.model.stop_training = True


def parse_arguments():
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(
        description="Train a multilayer perceptron on Fashion-MNIST.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--data-dir", default=data.SHIPPED, help="folder with the four Fashion-MNIST files")
    parser.add_argument("--train-samples", type=int, help="train on this many images only")
    parser.add_argument("--test-samples", type=int, help="validate on this many images only")
    parser.add_argument("--batch-size", type=int, default=10, help="training images per step, of each process")
    parser.add_argument("--val-batch-size", type=int, default=100, help="validation images per step, of each process")
    parser.add_argument("--hidden", type=int, default=256, help="units of the hidden layer")
    parser.add_argument("--learning-rate", type=float, default=0.004, help="learning rate of one process")
    parser.add_argument("--epochs", type=int, default=20, help="maximum number of epochs")
    parser.add_argument("--stop-at", type=float, default=0.9, help="validation accuracy to stop at")
    parser.add_argument("--log-dir", default="./logs", help="folder for TensorBoard logs")
    parser.add_argument("--seed", type=int, help="make the run repeatable")
    return parser.parse_args()


def pipeline(images, labels, batch_size, shuffled):
    """Return a data set of batches: images as float32 of shape (batch, 28, 28, 1), from 0 to 1, and labels."""
    scaled = images[..., None].astype("float32") / 255
    dataset = tf.data.Dataset.from_tensor_slices((scaled, labels))
    if shuffled:
        dataset = dataset.shuffle(len(images))
    return dataset.batch(batch_size)


def build_network(hidden):
    """Return the network: an image, a hidden layer, and a probability for each of the ten classes."""
    image = tf.keras.Input(shape=(28, 28, 1))
    x = tf.keras.layers.Flatten()(image)
    x = tf.keras.layers.Dense(hidden, activation="relu")(x)
    return tf.keras.Model(image, tf.keras.layers.Dense(10, activation="softmax")(x))


def main():
    """Train and report."""
    args = parse_arguments()
    if args.seed is not None:
        tf.keras.utils.set_random_seed(args.seed)

    (train_images, train_labels), (test_images, test_labels) = data.load(
        args.data_dir, args.train_samples, args.test_samples
    )
    training = pipeline(train_images, train_labels, args.batch_size, shuffled=True)
    validation = pipeline(test_images, test_labels, args.val_batch_size, shuffled=False)

    network = build_network(args.hidden)
    network.compile(
        loss="sparse_categorical_crossentropy",
        optimizer=tf.keras.optimizers.SGD(args.learning_rate),
        metrics=["accuracy"],
    )
    history = network.fit(
        training,
        epochs=args.epochs,
        validation_data=validation,
        callbacks=[StopAt(args.stop_at), tf.keras.callbacks.TensorBoard(args.log_dir)],
        verbose=2,
    )
    print(f"Validation accuracy after the last epoch: {history.history['val_accuracy'][-1]:.3f}")


if __name__ == "__main__":
    main()
