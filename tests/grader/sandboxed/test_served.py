"""What a coordinator gives its strategy, tried out: partitioners, and functions that make data."""

import tensorflow as tf

from grader.sandboxed import server_facts

MinSize = tf.distribute.experimental.partitioners.MinSizePartitioner


def fails(*args):
    raise ValueError("no")


def test_partitioners_are_told_apart_by_the_parts_that_they_make():
    assert server_facts.parts(None) == [(size, 1) for size in server_facts.SIZES]
    right = dict(server_facts.parts(MinSize(256 << 10, 3)))
    assert (right[256], right[512], right[768], right[8192]) == (1, 2, 3, 3)
    others = [MinSize(128 << 10, 3), MinSize(256, 3), MinSize(256 << 10, 2), MinSize(256 << 10, 4), MinSize()]
    assert all(dict(server_facts.parts(other)) != right for other in others)
    assert server_facts.parts(fails) == []


def test_what_a_function_makes_is_seen_over_several_passes():
    def data(context):
        return tf.data.Dataset.range(13).repeat().batch(context.get_per_replica_batch_size(2))

    made = server_facts.made(data, int)
    assert made.batches == [2, 1] and made.images[:26] == made.others[:26] == [*range(13), *range(13)]
    assert len(made.images) >= server_facts.ENOUGH


def test_a_function_that_ends_or_fails_makes_what_it_makes():
    short = server_facts.made(lambda context: tf.data.Dataset.range(13).batch(2), int)
    assert short.images == list(range(13))
    assert server_facts.made(fails, int).batches == []
