"""The program of step 12: one process trains on several devices, uses each image once, and resumes."""

import pytest

from course import data, launch
from course.steps import get

pytestmark = pytest.mark.slow

DEVICES, BATCH = 2, 4  # images of a device and step


@pytest.fixture(scope="module")
def flags(tmp_path_factory):
    """Flags for 90 images to train on and 10 to validate with, of each of which two are left for the last batch."""
    folder = tmp_path_factory.mktemp("mirrored")
    data.folders(folder / "images", 9, 1)
    small = launch.IMAGE_PROFILES["cpu"] | {"batch_size": BATCH, "val_batch_size": BATCH, "cpu_devices": DEVICES}
    return small | {"data_url": folder / "images", "log_dir": folder / "logs"}


@pytest.fixture(scope="module")
def first(flags):
    return launch.script(get(12).solution, np=1, epochs=2, seed=1, **flags)


def test_an_epoch_has_each_image_once(first):
    (record,) = first.records
    for epoch in (0, 1):
        batches = record.trained_on(epoch)
        assert [len(batch) for batch in batches] == [DEVICES * BATCH] * 11 + [2]
        assert sorted(number for batch in batches for number in batch) == list(range(90))


def test_it_learns_with_the_rate_of_all_devices(first):
    epochs = first.records[0].epochs
    assert [epoch.final_logs["lr"] for epoch in epochs] == pytest.approx([0.0125 * DEVICES] * 2)
    assert epochs[1].final_logs["loss"] < epochs[0].final_logs["loss"]


def test_it_resumes_from_its_checkpoint(first, flags):
    again = launch.script(get(12).solution, np=1, epochs=3, **flags)
    (epoch,) = again.records[0].epochs
    assert epoch.final_logs["loss"] < first.records[0].epochs[0].final_logs["loss"]
    assert (flags["log_dir"] / "checkpoint-3.h5").is_file() and (flags["log_dir"] / "weights.h5").is_file()


def test_a_batch_of_fewer_images_than_devices_is_made_to_do(flags, tmp_path):
    uneven = flags | {"cpu_devices": 3, "batch_size": 3, "val_batch_size": 3, "log_dir": tmp_path}
    data.folders(tmp_path / "images", 1, 1)  # ten images: a batch of nine, and one of one
    run = launch.script(get(12).solution, np=1, epochs=1, **uneven | {"data_url": tmp_path / "images"})
    assert run.records[0].epochs[0].steps == 2
