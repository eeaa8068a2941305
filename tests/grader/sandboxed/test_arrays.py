"""Functions of Python in a graph get copies of tensors, and give copies."""

import numpy as np
import pytest
import tensorflow as tf

from grader.sandboxed import arrays


@pytest.fixture
def copied(monkeypatch):
    """Arrays are copied, and as before after the test."""
    monkeypatch.setattr(arrays.REGISTRY, "__call__", arrays.REGISTRY.__call__)
    arrays.copy_arrays()


def zeroed(array):
    array[:] = 0
    return array.sum()


def test_an_array_that_is_written_to_leaves_its_tensor(copied):
    weights = tf.Variable(tf.ones(100))
    total = tf.function(lambda: tf.numpy_function(zeroed, [weights], tf.float32))()
    assert total == 0 and weights.numpy().sum() == 100

    def numbers(array):
        yield zeroed(array)

    data = tf.data.Dataset.from_generator(numbers, args=(weights,), output_signature=tf.TensorSpec((), tf.float32))
    assert list(data) == [0] and weights.numpy().sum() == 100


def test_a_tensor_leaves_the_array_that_it_was_made_from(copied):
    kept = np.ones(100, "float32")
    tensor = tf.function(lambda: tf.numpy_function(lambda: kept, [], tf.float32))()
    kept[:] = 0
    assert tensor.numpy().sum() == 100


def test_other_values_are_as_they_were(copied):
    several = tf.function(lambda: tf.numpy_function(lambda text: (text, 2), ["a"], (tf.string, tf.int64)))()
    assert [each.numpy() for each in several] == [b"a", 2]
    assert tf.function(lambda: tf.py_function(lambda each: each * 2, [tf.constant(3.0)], tf.float32))() == 6
