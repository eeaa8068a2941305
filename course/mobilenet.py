"""What the programs of a parameter-server cluster have to agree on, in one place: flags, images and the network.

The coordinator trains the network, and the evaluator loads its weights from checkpoints. They are two programs, on two
machines maybe; whatever one of them read otherwise would fit the other's checkpoints no more.

The network is that of Sandler, Howard, Zhu, Zhmoginov and Chen, "MobileNetV2: Inverted Residuals and Linear
Bottlenecks", 2018, with two dense layers on top.
"""

import argparse
import os
from pathlib import Path

import tensorflow as tf
from tensorflow.keras import layers


def flags(description: str) -> argparse.ArgumentParser:
    """Return a parser that has the flags of both programs. Each adds its own to them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data-dir", default="./data", help="folder of images: train/CLASS/… and val/CLASS/…")
    parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints, TensorBoard logs and the model")
    parser.add_argument("--batch-size", type=int, default=32, help="images in a step, which one worker does")
    parser.add_argument("--epochs", type=int, default=20, help="epochs to train for")
    parser.add_argument("--image-size", type=int, default=224, help="height and width that images are brought to")
    parser.add_argument("--classes", type=int, default=1000, help="how many classes there are")
    parser.add_argument("--alpha", type=float, default=1.0, help="width of the network: 0.35 is about an eighth of it")
    return parser


def count(folder: str | Path) -> int:
    """Return how many images are in the folders of the classes."""
    return sum(1 for _ in Path(folder).glob("*/*"))


def images(folder: str | Path, image_size: int, shuffle: bool) -> tf.data.Dataset:
    """Return the images of the folders, each with the number of its class, in alphabetical order of the classes.

    Args:
        folder: it has a folder for each class.
        image_size: height and width that images are brought to.
        shuffle: another order whenever the data are gone through.
    """
    names = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())

    def read(path: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        pixels = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
        label = tf.argmax(tf.strings.split(path, os.sep)[-2] == names)
        return tf.image.resize(pixels, (image_size, image_size)), label

    # Files are listed, and their names shuffled, where the data are read: on a worker, if the data are for a worker.
    files = tf.data.Dataset.list_files(f"{folder}/*/*", shuffle=shuffle)
    return files.map(read, num_parallel_calls=tf.data.AUTOTUNE)


def network(image_size: int, classes: int, alpha: float) -> tf.keras.Model:
    """Return the network, from pixels between 0 and 255 to the probability of each class; not compiled yet."""
    inputs = tf.keras.Input((image_size, image_size, 3))
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    features = tf.keras.applications.MobileNetV2(
        (image_size, image_size, 3), alpha=alpha, include_top=False, weights=None, pooling="avg"
    )
    for layer in features.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.momentum = 0.9  # with Keras' 0.999, what evaluation goes by is right after thousands of steps only
    x = features(x)
    x = layers.Dense(512, activation="relu")(x)
    x = layers.Dropout(0.2)(x)
    return tf.keras.Model(inputs, layers.Dense(classes, activation="softmax")(x))
