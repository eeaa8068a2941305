"""Flags, images and network that the programs of a parameter-server cluster share.

The coordinator trains the network, and the evaluator loads its weights from checkpoints. They are two programs,
possibly on two machines; if their networks differed, the checkpoints would not fit.

The network is that of Sandler, Howard, Zhu, Zhmoginov and Chen, "MobileNetV2: Inverted Residuals and Linear
Bottlenecks", 2018, with two dense layers on top.
"""

import argparse
import os
from pathlib import Path

import tensorflow as tf
from tensorflow.keras import layers


def flags(description: str) -> argparse.ArgumentParser:
    """Return a parser with the flags that both programs have. Each adds its own to them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--data-dir", default="./data", help="folder of images: train/CLASS/… and val/CLASS/…")
    parser.add_argument("--log-dir", default="./logs", help="folder for checkpoints, TensorBoard logs and the model")
    parser.add_argument("--batch-size", type=int, default=32, help="images per step, which one worker does")
    parser.add_argument("--epochs", type=int, default=20, help="epochs to train for")
    parser.add_argument("--image-size", type=int, default=224, help="height and width that images are resized to")
    parser.add_argument("--classes", type=int, default=1000, help="number of classes")
    parser.add_argument("--alpha", type=float, default=1.0, help="width of the network: 0.35 is about an eighth of it")
    return parser


def count(folder: str | Path) -> int:
    """Return the number of images in the folders of the classes."""
    return sum(1 for _ in Path(folder).glob("*/*"))


def images(folder: str | Path, image_size: int, shuffle: bool) -> tf.data.Dataset:
    """Return the images below a folder, each with the number of its class.

    Args:
        folder: has a folder for each class; classes are numbered in alphabetical order.
        image_size: height and width that images are resized to.
        shuffle: whether each pass over the data has another order.

    Returns:
        A data set of float32 images, (image_size, image_size, 3), values 0 to 255, with int64 labels, ().
    """
    names = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())

    def read(path: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        pixels = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
        label = tf.argmax(tf.strings.split(path, os.sep)[-2] == names)
        return tf.image.resize(pixels, (image_size, image_size)), label

    # The machine that reads the data, which may be a worker, lists the files and shuffles their names.
    files = tf.data.Dataset.list_files(f"{folder}/*/*", shuffle=shuffle)
    return files.map(read, num_parallel_calls=tf.data.AUTOTUNE)


def network(image_size: int, classes: int, alpha: float) -> tf.keras.Model:
    """Return the network, not compiled: from images with values 0 to 255 to the probability of each class.

    Args:
        image_size: height and width of the images.
        classes: the number of classes.
        alpha: width of the network; 0.35 is about an eighth of the full one.
    """
    inputs = tf.keras.Input((image_size, image_size, 3))
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    features = tf.keras.applications.MobileNetV2(
        (image_size, image_size, 3), alpha=alpha, include_top=False, weights=None, pooling="avg"
    )
    for layer in features.layers:
        if isinstance(layer, layers.BatchNormalization):
            layer.momentum = 0.9  # with Keras' 0.999, evaluation needs thousands of steps to be accurate
    x = features(x)
    x = layers.Dense(512, activation="relu")(x)
    x = layers.Dropout(0.2)(x)
    return tf.keras.Model(inputs, layers.Dense(classes, activation="softmax")(x))
