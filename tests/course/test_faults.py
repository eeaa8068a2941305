"""A rank that is killed on purpose: in the requested epoch, and no process is left."""

import pytest

from course import faults, launch

# Prints what Keras prints, and trains nothing. Its last epoch takes as long as --last says.
EPOCHS = """
import sys, time
for epoch in (1, 2, 3):
    print(f"Epoch {epoch}/3")
    time.sleep(float(sys.argv[-1]) if epoch == 3 else 1)
    print(f"4/4 [====] - 1s 9ms/step - loss: 0.{epoch} - val_loss: 7")
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(EPOCHS)
    return path


@pytest.mark.slow
def test_a_rank_is_killed_in_the_middle_of_an_epoch(program, leftovers):
    failure = faults.kill_rank(program, np=2, rank=1, epoch=3, last=60)
    assert failure.losses == [0.1, 0.2] and len(failure.epoch_starts) == 3
    assert failure.killed > failure.epoch_starts[-1]
    assert failure.reason.startswith("Rank 1 was killed by signal 9 (SIGKILL)")
    assert leftovers() == []


@pytest.mark.slow
def test_an_epoch_that_never_begins_is_reported(program):
    with pytest.raises(launch.RunError, match="No rank was killed"):
        faults.kill_rank(program, np=2, rank=1, epoch=4, last=1)
