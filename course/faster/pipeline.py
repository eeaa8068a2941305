"""Measure which share of its time a GPU waits for its input. The GPU is a pause, and so is the reading of a batch.

idle_share(read=0.01, compute=0.01, prefetch=2)
"""

import time


def idle_share(
    read: float,
    compute: float,
    *,
    prefetch: int = 0,
    parallel: int = 1,
    slow: float = 0.0,
    batches: int = 24,
) -> float:
    """Return the share of its time that the GPU is idle, after a few batches that do not count.

    Args:
        read: seconds to read a batch.
        compute: seconds that the GPU needs for a batch.
        prefetch: batches that are kept ready; 0: the next one is read when the GPU asks for it.
        parallel: batches that are read at the same time.
        slow: seconds more that every eighth batch takes to read.
        batches: that are timed, a multiple of 8.
    """
    import tensorflow as tf

    def load(number: int) -> int:
        time.sleep(read + slow * (number % 8 == 7))
        return number

    dataset = tf.data.Dataset.range(8 + batches)
    calls = parallel if parallel > 1 else None  # with 1, a batch would be read ahead
    dataset = dataset.map(lambda number: tf.numpy_function(load, [number], tf.int64), num_parallel_calls=calls)
    if prefetch:
        dataset = dataset.prefetch(prefetch)
    options = tf.data.Options()
    options.threading.private_threadpool_size = parallel + 2  # by itself, it is the number of cores
    options.experimental_optimization.inject_prefetch = False  # which TensorFlow does by itself
    dataset = dataset.with_options(options)
    waited, began = 0.0, 0.0
    ready = time.perf_counter()
    for number, _ in enumerate(dataset):
        now = time.perf_counter()
        if number == 8:
            waited, began = 0.0, now
        waited += now - ready
        time.sleep(compute)
        ready = time.perf_counter()
    return waited / (ready - began)
