"""What a data set, a partitioner and a function that makes data show of a training under a strategy."""

import pytest
import tensorflow as tf

from grader.sandboxed import strategy_facts


@pytest.mark.parametrize(
    ("make", "sharded"),
    [
        (lambda data: data.batch(2), False),
        (lambda data: data.shard(2, 0).shuffle(4).batch(2).repeat(), True),
        (lambda data: tf.data.Dataset.zip((data, data.shard(num_shards=2, index=1))).prefetch(1), True),
        (lambda data: None, False),
    ],
)
def test_a_data_set_that_the_program_shares_out_is_known_wherever_it_does_so(make, sharded):
    assert strategy_facts.is_sharded(make(tf.data.Dataset.range(8))) is sharded


MinSize = tf.distribute.experimental.partitioners.MinSizePartitioner


def fails(*args):
    raise ValueError("no")


def test_partitioners_are_told_apart_by_the_parts_that_they_make():
    assert strategy_facts.parts_by_size(None) == [(size, 1) for size in strategy_facts.SIZES]
    right = dict(strategy_facts.parts_by_size(MinSize(256 << 10, 3)))
    assert (right[256], right[512], right[768], right[8192]) == (1, 2, 3, 3)
    others = [MinSize(128 << 10, 3), MinSize(256, 3), MinSize(256 << 10, 2), MinSize(256 << 10, 4), MinSize()]
    assert all(dict(strategy_facts.parts_by_size(other)) != right for other in others)
    assert strategy_facts.parts_by_size(fails) == []


def test_what_a_function_makes_is_seen_over_several_passes(monkeypatch):
    monkeypatch.setattr(strategy_facts, "number_of", int)

    def data(context):
        return tf.data.Dataset.range(13).repeat().batch(context.get_per_replica_batch_size(2))

    made = strategy_facts.input_made(data)
    assert made.batches == [2, 1] and made.images[:26] == made.others[:26] == [*range(13), *range(13)]
    assert len(made.images) >= strategy_facts.ENOUGH


def test_a_function_that_ends_or_fails_makes_what_it_makes(monkeypatch):
    monkeypatch.setattr(strategy_facts, "number_of", int)
    short = strategy_facts.input_made(lambda context: tf.data.Dataset.range(13).batch(2))
    assert short.images == list(range(13))
    assert strategy_facts.input_made(fails).batches == []
