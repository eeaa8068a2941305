"""What can be seen of models, data, callbacks and checkpoints under a strategy, as facts."""

import contextlib
import gc
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import BackupAndRestore, Callback, ModelCheckpoint, TensorBoard
from tensorflow.python.data.ops import shard_op
from tensorflow.python.distribute import input_lib
from tensorflow.python.ops import summary_ops_v2

from grader.sandboxed.folders import files_below
from grader.terms.facts import Writer

FILES = 20  # that are looked at
CREATOR = tf.keras.utils.experimental.DatasetCreator
CALLBACKS = BackupAndRestore, ModelCheckpoint, TensorBoard  # that checks know; a subclass counts as one of these


def number_of(image: Any) -> int:
    """Return a number that tells an image from others, however its values were scaled."""
    flat = np.ravel(image).astype(np.float64)
    low, high = flat.min(), flat.max()
    return zlib.crc32(np.rint(255 * (flat - low) / max(high - low, 1e-9)).astype(np.uint8).tobytes())


def kept_tensors(logs: Path) -> list[np.ndarray]:
    """Return what the newest checkpoints and backups below --log-dir hold: arrays of numbers that are no integers."""
    tensors = []
    for index in sorted(path for path in files_below(logs) if path.suffix == ".index"):
        newest = tf.train.latest_checkpoint(index.parent)
        if newest and Path(newest).name != index.stem:
            continue
        with contextlib.suppress(tf.errors.OpError):  # another worker may be writing it
            reader = tf.train.load_checkpoint(str(index.with_suffix("")))
            kinds = reader.get_variable_to_dtype_map()
            tensors += [reader.get_tensor(name) for name, kind in kinds.items() if kind.is_floating]
    return tensors


def is_from(kept: list[np.ndarray], model: Any) -> bool:
    """Return whether each weight that a model trains, but for those that are kept in parts, is one of these arrays."""
    whole = [weight for weight in model.trainable_variables if "/part_" not in weight.name]
    weights = [np.asarray(tf.convert_to_tensor(weight)) for weight in whole]
    return all(any(np.array_equal(array, weight) for array in kept) for weight in weights)


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


def draw_weights(weights: list[Any], random: np.random.Generator) -> None:
    """Draw the matrices among a model's weights anew, so that the accuracy it reaches does not rest on its own draw."""
    for weight in weights:
        if weight.shape.rank > 1:
            limit = np.sqrt(6 / (np.prod(weight.shape[:-2]) * sum(weight.shape[-2:])))  # Glorot and Bengio's
            weight.assign(random.uniform(-limit, limit, weight.shape))


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


def has_board(callbacks: Any) -> bool:
    """Return whether a callback for TensorBoard is among what evaluate() is given: callbacks, one of them, or none."""
    given = callbacks if isinstance(callbacks, list | tuple) else getattr(callbacks, "callbacks", None) or [callbacks]
    return any(isinstance(callback, TensorBoard) for callback in given)


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
