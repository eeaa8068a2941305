"""A line of a learner's script belongs to the step whose edit it is, whichever step the script is judged at."""

import pytest

from grader.reading.edits import step_of


@pytest.mark.parametrize(
    ("line", "number", "step"),
    [
        ("hvd.init()", 6, 1),
        ("    gpu = gpus[hvd.local_size()]", 1, 1),
        ("gpu = gpus[hvd.local_rank() + 1]", 6, 1),
        ("callbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback())", 4, 4),
        ("callbacks.append(hvd.BroadcastGlobalVariablesCallback(0))", 6, 4),
        ("callbacks.append(hvd.MetricAverageCallback())", 6, 6),
        ("    steps_per_epoch=len(train_iter) // hvd.rank(),", 6, 5),
        ("opt = hvd.DistributedOptimizer(tf.keras.optimizers.SGD)", 4, 3),
        ("raise ValueError('too bad')", 2, 2),  # like no line of a solution: an edit of the step in work
        ("model = create_model()", 6, None),  # the program has it from the beginning
        ("", 6, None),
        ("staging.copy(args.train_url)", 8, 8),
    ],
)
def test_a_line_belongs_to_the_step_that_brings_one_like_it(line, number, step):
    assert step_of(line, number) == step
