"""Keep arrays that a script's functions take from tensors, or return for them, from sharing memory with these.

In a graph, TensorFlow gives tf.numpy_function and generators of a data set the memory of the tensors themselves. An
array that is written to would change weights, or what a recorder keeps, without any operation that could be seen.
"""

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import script_ops

REGISTRY: Any = script_ops.FuncRegistry  # calls the functions of Python that a graph has


def copy_arrays() -> None:
    """Have every function that a graph of this process calls get copies, and return copies."""
    call = REGISTRY.__call__

    def with_copies(registry: Any, token: Any, device: Any, given: Any) -> Any:
        return _copied(call(registry, token, device, _copied(given)))

    REGISTRY.__call__ = with_copies


def _copied(values: Any) -> Any:
    return tf.nest.map_structure(lambda value: value.copy() if isinstance(value, np.ndarray) else value, values)
