"""What can be seen of models, data, callbacks and checkpoints under a strategy, as facts.

A coordinator gives its strategy a partitioner of variables and a function that makes the data. Both are tried out here:
what they make on the servers and workers is seen by no recorder.
"""

import contextlib
import gc
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import BackupAndRestore, Callback, ModelCheckpoint, TensorBoard
from tensorflow.python.data.ops import shard_op
from tensorflow.python.distribute import input_lib
from tensorflow.python.ops import summary_ops_v2

from grader.sandboxed.files import files_below
from grader.terms.facts import Input, Writer

FILES = 20  # that are looked at
CREATOR = tf.keras.utils.experimental.DatasetCreator
CALLBACKS = BackupAndRestore, ModelCheckpoint, TensorBoard  # that checks know; a subclass counts as one of these

# KiB of variables: 256 KiB and multiples. In between, MinSizePartitioner makes one part more, which is smaller.
SIZES = 128, 256, 512, 768, 1024, 8192
REPLICAS = 1, 2  # of the contexts that a function of data is tried out with
PASSES = 3  # over the images, after which all have been seen
ENOUGH, LARGEST = 40, 300  # images


def number_of(image: Any) -> int:
    """Return a number that tells an image from others, however its values were scaled."""
    flat = np.ravel(image).astype(np.float64)
    low, high = flat.min(), flat.max()
    return zlib.crc32(np.rint(255 * (flat - low) / max(high - low, 1e-9)).astype(np.uint8).tobytes())


def is_divided(given: Any) -> bool:
    """Return whether the strategy leaves each worker its part of the batches of what fit is given."""
    if isinstance(given, input_lib.DistributedDatasetsFromFunction):
        return False
    dataset = _original(given)
    if not isinstance(dataset, tf.data.Dataset):
        return True
    policy = dataset.options().experimental_distribute.auto_shard_policy
    return bool(policy != tf.data.experimental.AutoShardPolicy.OFF)


def is_sharded(given: Any) -> bool:
    """Return whether what fit is given is a data set that the program itself has shared out, with shard()."""
    datasets = [_original(given)]
    while datasets:
        dataset = datasets.pop()
        if isinstance(dataset, shard_op._ShardDataset):
            return True
        datasets += dataset._inputs() if isinstance(dataset, tf.data.Dataset) else []
    return False


def _original(given: Any) -> Any:
    """Return the program's own data set, if this is one that a strategy has made of it."""
    return getattr(given, "_original_dataset", given)


def in_parts(model: Any) -> list[list[int]]:
    """Return the variables that are kept in several parts: how many these are, and the shape of the first one."""
    parts: dict[str, list[list[int]]] = {}
    for variable in model.trainable_variables:
        name, part, _ = variable.name.rpartition("/part_")
        if part:
            parts.setdefault(name, []).append(list(variable.shape))
    return [[len(shapes), *shapes[0]] for shapes in parts.values() if len(shapes) > 1]


def places(model: Any) -> list[str]:
    """Return the types of tasks that hold the model's variables."""
    devices = {variable.device for variable in model.trainable_variables}  # an optimizer elsewhere is Keras' error
    return sorted({job[1] for job in (re.search(r"/job:(\w+)", device) for device in devices) if job})


def kind_of(data: Any) -> str:
    """Return the class of what a model is trained on; that of a DatasetCreator also where it is a subclass."""
    return (CREATOR if isinstance(data, CREATOR) else type(data)).__name__


def curves(logs: Path) -> dict[str, int]:
    """Return the files for TensorBoard that this process has written, each with the number of values in it."""
    for each in gc.get_objects():
        if issubclass(type(each), summary_ops_v2.SummaryWriter):
            each.flush()
    own = [path for path in files_below(logs) if ".tfevents." in path.name and f".{os.getpid()}." in path.name]
    return {str(path): _values(path) for path in own[:FILES]}


def _values(events: Path) -> int:
    """Return how many values of curves a file for TensorBoard holds."""
    count = 0
    with contextlib.suppress(tf.errors.OpError):  # the last one may be cut off
        for record in tf.compat.v1.train.summary_iterator(str(events)):
            count += sum(value.metadata.plugin_data.plugin_name == "scalars" for value in record.summary.value)
    return count


def writer(callback: Callback) -> Writer:
    """Return a callback's kind, and where it writes."""
    paths = (getattr(callback, name, None) for name in ("filepath", "log_dir", "_backup_dir", "backup_dir", "filename"))
    path = next((os.path.abspath(path) for path in paths if isinstance(path, str | os.PathLike)), None)  # noqa: PTH100
    bases = type(callback).__mro__
    known = [base for base in bases if base in CALLBACKS]
    kind = next(base.__name__ for base in (*known, *bases) if base.__module__.startswith("keras"))
    return Writer(kind, path)


def parts_by_size(partitioner: Any) -> list[tuple[int, int]]:
    """Return into how many parts a partitioner cuts a variable of each size; none where it is no partitioner."""
    if partitioner is None:
        return [(size, 1) for size in SIZES]
    try:
        shapes = {size: tf.TensorShape([size * 1024 // 4]) for size in SIZES}
        return [(size, math.prod(map(int, partitioner(shape, tf.float32)))) for size, shape in shapes.items()]
    except Exception:  # it is the script's, and fails again where the strategy uses it
        return []


def input_made(function: Callable[[Any], Any]) -> Input:
    """Return what a script's function of a context makes for two workers: one with a replica, and one with two."""
    sizes: list[int] = []
    orders: list[list[int]] = []
    for replicas in REPLICAS:
        images: list[int] = []
        with contextlib.suppress(Exception):  # it is the script's, and fails again where Keras calls it
            context = tf.distribute.InputContext(num_replicas_in_sync=replicas)
            for element in tf.function(lambda context=context: function(context))():  # traced, as the strategy does
                batch = [number_of(image) for image in tf.nest.flatten(element)[0].numpy()]
                if not images:
                    sizes.append(len(batch))
                images += batch
                often = min(Counter(images).values()) >= PASSES
                if len(images) >= LARGEST or (len(images) >= ENOUGH and often):
                    break
        orders.append(images[:LARGEST])
    return Input(sizes, *orders)
