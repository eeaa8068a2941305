"""What a coordinator gives its strategy: a partitioner of variables, and a function that makes the data.

Both are the script's own objects. They are tried out here, in the coordinator: what they make elsewhere is seen by no
recorder.
"""

import contextlib
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from grader.terms.facts import Input

# KiB of variables: 256 KiB and multiples. In between, MinSizePartitioner makes one part more, which is smaller.
SIZES = 128, 256, 512, 768, 1024, 8192
REPLICAS = 1, 2  # of the contexts that a function of data is tried out with
PASSES = 3  # over the images, after which all have been seen
ENOUGH, LARGEST = 40, 300  # images


def parts(partitioner: Any) -> list[tuple[int, int]]:
    """Return into how many parts a partitioner cuts a variable of each size; none where it is no partitioner."""
    if partitioner is None:
        return [(size, 1) for size in SIZES]
    try:
        shapes = {size: tf.TensorShape([size * 1024 // 4]) for size in SIZES}
        return [(size, math.prod(map(int, partitioner(shape, tf.float32)))) for size, shape in shapes.items()]
    except Exception:  # it is the script's, and fails again where the strategy uses it
        return []


def made(function: Callable[[Any], Any], number: Callable[[Any], int]) -> Input:
    """Return what a function makes for two workers: one with a replica, and one with two.

    Args:
        function: of a context.
        number: returns the number of an image.
    """
    sizes: list[int] = []
    orders: list[list[int]] = []
    for replicas in REPLICAS:
        images: list[int] = []
        with contextlib.suppress(Exception):  # it is the script's, and fails again where Keras calls it
            context = tf.distribute.InputContext(num_replicas_in_sync=replicas)
            for element in tf.function(lambda context=context: function(context))():  # traced, as the strategy does
                batch = [number(image) for image in tf.nest.flatten(element)[0].numpy()]
                if not images:
                    sizes.append(len(batch))
                images += batch
                often = min(Counter(images).values()) >= PASSES
                if len(images) >= LARGEST or (len(images) >= ENOUGH and often):
                    break
        orders.append(images[:LARGEST])
    return Input(sizes, *orders)
