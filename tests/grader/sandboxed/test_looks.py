"""What a data set shows of how images are shared out."""

import pytest
import tensorflow as tf

from grader.sandboxed import model_facts


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
    assert model_facts.is_sharded(make(tf.data.Dataset.range(8))) is sharded
