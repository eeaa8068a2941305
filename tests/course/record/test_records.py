"""Records of ranks: what is written is read, sorted by rank."""

import msgspec
import numpy as np
import pytest

from course.record.records import Epoch, Record, read_records, write_record

EPOCHS = [Epoch(1.0, steps=2, final_logs={"loss": float("nan")}), Epoch(2.0, steps=1)]


def test_what_is_written_is_read(tmp_path):
    weights = np.arange(6.0).reshape(2, 3)
    write_record(Record(1, 11, worker_steps=[(0, 1.0, 2.0)]), tmp_path)
    write_record(Record(0, 10, [0, 2, 0], epochs=EPOCHS, weights=weights, drawn={"train": [[1, 2]]}), tmp_path)
    zero, one = read_records(tmp_path)
    assert one == Record(1, 11, worker_steps=[(0, 1.0, 2.0)])
    assert (zero.rank, zero.horovod, zero.drawn) == (0, [0, 2, 0], {"train": [[1, 2]]})
    assert np.isnan(zero.epochs[0].final_logs["loss"]) and zero.epochs[1] == EPOCHS[1]
    assert np.array_equal(zero.weights, weights)


def test_other_contents_are_refused(tmp_path):
    (tmp_path / "rank_0.msgpack").write_bytes(msgspec.msgpack.encode({"rank": "zero"}))
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        read_records(tmp_path)


def test_the_images_of_an_epoch_are_those_of_its_steps():
    record = Record(0, 1, epochs=EPOCHS, drawn={"train": [[1], [2], [3], [4]]})  # the last one was read ahead
    assert record.trained_on(0) == [[1], [2]] and record.trained_on(1) == [[3]]


def test_images_that_were_not_recorded_are_an_error():
    with pytest.raises(ValueError, match="Rank 0 did not read its images by flow_from_directory"):
        Record(0, 1, epochs=EPOCHS).trained_on(0)
