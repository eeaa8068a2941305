"""Several programs in one start of the ranks: each one's epochs are its own."""

import pytest

from course import launch, series

FIT = """
import sys
import numpy as np
import tensorflow as tf
epochs = int(sys.argv[sys.argv.index("--epochs") + 1])
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])
model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(learning_rate=0.0))
target = float(sys.argv[sys.argv.index("--target") + 1])
model.fit(np.zeros((4, 1)), np.full((4, 1), target), epochs=epochs, verbose=0)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(FIT)
    return path


@pytest.mark.slow
def test_each_program_has_its_own_epochs(program, leftovers):
    said = []
    programs = {"one": (program, {"target": 1}), "by rank": (program, {"target": "1{rank}"})}
    runs = series.scripts(programs, np=2, epochs=2, say=said.append)
    losses = {
        name: [[epoch.final_logs["loss"] for epoch in record.epochs] for record in run.records]
        for name, run in runs.items()
    }
    assert losses == {"one": [[1, 1], [1, 1]], "by rank": [[100, 100], [121, 121]]}
    assert said == ["one: program.py", "by rank: program.py"]
    assert leftovers() == []


@pytest.mark.slow
def test_a_program_that_fails_is_named(program):
    with pytest.raises(launch.RunError, match="ValueError"):
        series.scripts({"broken": (program, {"target": "no_number"})}, np=1, epochs=1, say=lambda line: None)
