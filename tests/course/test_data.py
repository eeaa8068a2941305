"""The data set: whole, or refused with one line that says what to do."""

import gzip
import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from course import data

IMAGES = "train-images-idx3-ubyte.gz"
LABELS = "train-labels-idx1-ubyte.gz"


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(data.SHIPPED, tmp_path / "copy"))


def test_the_shipped_subset_is_balanced_and_licensed():
    (x_train, y_train), (x_test, y_test) = data.load()
    assert x_train.shape == (6000, 28, 28) and x_test.shape == (1000, 28, 28)
    assert x_train.dtype == y_train.dtype == np.uint8
    assert np.bincount(y_train).tolist() == [600] * 10 and np.bincount(y_test).tolist() == [100] * 10
    assert "MIT License" in (Path(data.SHIPPED) / "LICENSE").read_text()


def test_samples_are_the_first_ones():
    (x_train, y_train), (x_test, _) = data.load(train_samples=7, test_samples=3)
    (every_x, every_y), _ = data.load()
    assert np.array_equal(x_train, every_x[:7]) and np.array_equal(y_train, every_y[:7]) and len(x_test) == 3


@pytest.mark.parametrize("samples", [0, -1, 6001])
def test_more_samples_than_there_are_or_none_are_refused(samples):
    with pytest.raises(data.DataError, match="there are 6000"):
        data.load(train_samples=samples)


def test_a_missing_file_is_refused(copy):
    (copy / LABELS).unlink()
    with pytest.raises(data.DataError, match=r"No such file.*python -m course data fetch"):
        data.load(copy)


def test_a_missing_file_of_the_course_is_restored_by_git(monkeypatch, copy):
    monkeypatch.setattr(data, "SHIPPED", str(copy))
    (copy / LABELS).unlink()
    with pytest.raises(data.DataError, match="git checkout"):
        data.load(copy)


@pytest.mark.parametrize("length", [0, 1, 100, 100_000])
def test_a_truncated_file_is_refused(copy, length):
    (copy / IMAGES).write_bytes((copy / IMAGES).read_bytes()[:length])
    with pytest.raises(data.DataError, match=IMAGES):
        data.load(copy)


@pytest.mark.parametrize("position", [0, 9, 20, 50_000, -5])
def test_a_corrupted_file_is_refused(copy, position):
    raw = bytearray((copy / IMAGES).read_bytes())
    raw[position] ^= 0xFF
    (copy / IMAGES).write_bytes(raw)
    if position == 9:  # the name of the packer's system: the one byte that means nothing
        data.load(copy)
    else:
        with pytest.raises(data.DataError, match=IMAGES):
            data.load(copy)


def test_a_file_with_other_contents_is_refused(copy):
    (copy / IMAGES).write_bytes(gzip.compress(b"not images"))
    with pytest.raises(data.DataError, match="does not hold what its name says"):
        data.load(copy)


def test_images_without_their_labels_are_refused(copy):
    shutil.copy(copy / "t10k-labels-idx1-ubyte.gz", copy / LABELS)
    with pytest.raises(data.DataError, match="6000 train images but 1000 labels"):
        data.load(copy)


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A Keras cache that holds the subset, taken for the full set by its checksums; no other source has anything."""
    cache = tmp_path / "keras" / "datasets" / "fashion-mnist"
    shutil.copytree(data.SHIPPED, cache)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    for name in data.FULL_SET:
        checksum = hashlib.sha256(gzip.decompress((cache / name).read_bytes())).hexdigest()
        monkeypatch.setitem(data.FULL_SET, name, checksum)

    def nothing(scratch):
        raise OSError("nothing here")

    monkeypatch.setattr(data, "_keras_download", nothing)
    monkeypatch.setattr(data, "_debian", nothing)
    return cache


def test_fetch_takes_what_keras_has_already(cached, tmp_path):
    said = []
    data.fetch(tmp_path / "full", said.append)
    assert sorted(path.name for path in (tmp_path / "full").iterdir()) == sorted(data.FULL_SET)
    assert "Keras' cache" in said[-1]


def test_fetch_refuses_what_has_the_wrong_checksum_and_leaves_nothing(cached, tmp_path):
    shutil.copy(cached / LABELS, cached / "t10k-labels-idx1-ubyte.gz")
    with pytest.raises(data.DataError, match=r"wrong checksum.*nothing here.*nothing here"):
        data.fetch(tmp_path / "full", lambda line: None)
    assert list((tmp_path / "full").iterdir()) == []


def test_cut_is_how_the_subset_was_made(tmp_path):
    data.cut(Path(data.SHIPPED), tmp_path, train_per_class=600, test_per_class=100)
    for name in data.FULL_SET:
        assert gzip.decompress((tmp_path / name).read_bytes()) == gzip.decompress(
            (Path(data.SHIPPED) / name).read_bytes()
        )


def test_test_images_of_some_kinds_can_be_had_alone(tmp_path):
    data.select(Path(data.SHIPPED), tmp_path, ["Trouser", "Bag"])
    (images, _), (test_images, test_labels) = data.load(tmp_path)
    (shipped, _), _ = data.load()
    assert (images == shipped).all()
    assert len(test_images) == 200 and {data.CLASSES[label] for label in test_labels} == {"Trouser", "Bag"}
