"""Find, check, fetch and cut the Fashion-MNIST data set, and write it as folders of images.

The data are the four files of the original distribution, gzipped IDX arrays (the format is described at
http://yann.lecun.com/exdb/mnist/): 28 x 28 grey images of ten kinds of clothing. A balanced subset of 6,000
training and 1,000 test images ships with the course, in the same four files. Only fetch() needs a network.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

SHIPPED = str(Path(__file__).parents[1] / "data" / "fashion_mnist")

CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")

# SHA-256 of each file of the full set, unpacked: mirrors compress the same bytes in different ways.
FULL_SET = {
    "train-images-idx3-ubyte.gz": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte.gz": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte.gz": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte.gz": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}

KERAS_ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"

Arrays = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class DataError(SystemExit):
    """The data cannot be used; the message says why and what to do. Ends a program with that line alone."""


def load(directory: str | Path = SHIPPED, train_samples: int | None = None, test_samples: int | None = None) -> Arrays:
    """Read Fashion-MNIST from the four files in a directory, never from a network.

    Args:
        directory: the folder with the four .gz files.
        train_samples, test_samples: the number of images to return, from the first one on; all of them if None.

    Returns:
        (x_train, y_train), (x_test, y_test): images as uint8 of shape (n, 28, 28), values 0 to 255, and
        labels as uint8 of shape (n,), values 0 to 9.

    Raises:
        DataError: files are missing, truncated or corrupted, or hold fewer images than were asked for.
    """
    return _read(Path(directory), "train", train_samples), _read(Path(directory), "t10k", test_samples)


def _read(directory: Path, part: str, samples: int | None) -> tuple[np.ndarray, np.ndarray]:
    images = _parse_idx(directory / f"{part}-images-idx3-ubyte.gz", item_shape=(28, 28))
    labels = _parse_idx(directory / f"{part}-labels-idx1-ubyte.gz", item_shape=())
    if len(images) != len(labels):
        raise DataError(
            f"Data in {directory}: {len(images)} {part} images but {len(labels)} labels. {_cure(directory)}"
        )
    if samples is not None and not 0 < samples <= len(images):
        raise DataError(
            f"Data in {directory}: {samples} {part} images were asked for, and there are {len(images)}. "
            "Ask for fewer, or fetch the full set with: python -m course data fetch DIR"
        )
    return images[:samples], labels[:samples]


def _parse_idx(path: Path, item_shape: tuple[int, ...]) -> np.ndarray:
    """Return the uint8 array, of shape (n, *item_shape), that a gzipped IDX file holds."""
    try:
        raw = gzip.decompress(path.read_bytes())
    except OSError as error:  # a missing or unreadable file, and gzip's own complaint
        raise DataError(f"Data file {path}: {error.strerror or error}. {_cure(path.parent)}") from None
    except (EOFError, zlib.error) as error:
        raise DataError(f"Data file {path} is damaged: {error}. {_cure(path.parent)}") from None
    header = 4 + 4 * (1 + len(item_shape))
    count, *shape = np.frombuffer(raw[4:header].ljust(header - 4, b"\0"), ">u4").tolist()
    magic = bytes([0, 0, 8, 1 + len(item_shape)])
    if raw[:4] != magic or tuple(shape) != item_shape or len(raw) != header + count * int(np.prod(item_shape)):
        raise DataError(f"Data file {path} does not hold what its name says. {_cure(path.parent)}")
    return np.frombuffer(raw, np.uint8, offset=header).reshape(count, *item_shape)


def _cure(directory: Path) -> str:
    if directory == Path(SHIPPED):
        return f"It belongs to the course; restore it with: git checkout -- '{directory}'"
    return f"Fetch the data anew with: python -m course data fetch '{directory}'"


def fetch(directory: Path, say: Callable[[str], None] = print) -> None:
    """Put the four files of the full set into a directory, verified by their checksums.

    Sources are Keras' cache, Keras' download, and Debian's package dataset-fashion-mnist, in this order. A file gets
    its name only when it is complete and verified.

    Args:
        directory: the destination; it is created.
        say: takes lines about the progress.

    Raises:
        DataError: no source had the files; the message holds the error of each.
    """
    directory.mkdir(parents=True, exist_ok=True)
    refusals = []
    for name, source in (("Keras' cache", _keras_cache), ("Keras' download", _keras_download), ("Debian", _debian)):
        with tempfile.TemporaryDirectory(dir=directory, prefix=".fetch-") as scratch:
            try:
                found = source(Path(scratch))
                for file, checksum in FULL_SET.items():
                    _check(found / file, checksum)
                for file in FULL_SET:
                    whole = Path(scratch) / f"{file}.whole"
                    shutil.copyfile(found / file, whole)
                    whole.replace(directory / file)
            except Exception as error:  # a source may fail in any way; the next one is tried
                refusals.append(f"{name}: {error}")
                say(f"{name} does not have it: {error}")
                continue
        say(f"The full set, 60,000 training and 10,000 test images, is in {directory} (from {name}).")
        return
    raise DataError(f"The data could not be fetched. {'; '.join(refusals)}. Check the network and try again.")


def _check(path: Path, checksum: str) -> None:
    """Raise unless the unpacked file has the checksum."""
    if hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest() != checksum:
        raise ValueError(f"{path.name} has the wrong checksum")


def _keras_cache(_scratch: Path) -> Path:
    home = Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"))
    return home / "datasets" / "fashion-mnist"


def _keras_download(scratch: Path) -> Path:
    from tensorflow.keras.utils import get_file  # takes seconds to import

    for file in FULL_SET:
        get_file(file, KERAS_ORIGIN + file, cache_dir=scratch, cache_subdir="fashion-mnist")
    return scratch / "fashion-mnist"


def _debian(scratch: Path) -> Path:
    installed = Path("/usr/share/datasets/fashion-mnist")
    if installed.is_dir():
        return installed
    for command in ("apt-get download dataset-fashion-mnist", "dpkg -x *.deb ."):
        done = subprocess.run(command, shell=True, cwd=scratch, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError(f"'{command}' said: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    return scratch / installed.relative_to("/")


def cut(source: Path, directory: Path, train_per_class: int, test_per_class: int) -> None:
    """Write a balanced subset as the same four files: the first images of each class, in the original order.

    Args:
        source: the folder with the full set's four .gz files.
        directory: the destination; it is created.
        train_per_class, test_per_class: the number of images per class.

    Raises:
        DataError: as load() does.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for part, per_class in (("train", train_per_class), ("t10k", test_per_class)):
        images, labels = _read(source, part, None)
        chosen = np.sort(np.concatenate([np.flatnonzero(labels == kind)[:per_class] for kind in range(len(CLASSES))]))
        write(directory, part, images[chosen], labels[chosen])


def select(source: Path, directory: Path, kinds: Sequence[str]) -> None:
    """Write the data set as the same four files, with all training images and the test images of some kinds alone.

    Args:
        source: the folder with the data set's four .gz files.
        directory: the destination; it is created.
        kinds: names in CLASSES.

    Raises:
        DataError: as load() does.
    """
    directory.mkdir(parents=True, exist_ok=True)
    (images, labels), (test_images, test_labels) = load(source)
    chosen = np.isin(test_labels, [CLASSES.index(kind) for kind in kinds])
    write(directory, "train", images, labels)
    write(directory, "t10k", test_images[chosen], test_labels[chosen])


def write(directory: Path, part: str, images: np.ndarray, labels: np.ndarray) -> None:
    """Write the two files of a part, "train" or "t10k": images (n, 28, 28) and labels (n,), both uint8."""
    _write_idx(directory / f"{part}-images-idx3-ubyte.gz", images)
    _write_idx(directory / f"{part}-labels-idx1-ubyte.gz", labels)


def folders(directory: Path, train_per_class: int, test_per_class: int, source: str | Path = SHIPPED) -> None:
    """Write images as PNG files of 28 x 28 grey pixels: train/CLASS/0000.png, …, and val/CLASS/… for the test images.

    Args:
        directory: the destination; it is created.
        train_per_class, test_per_class: the number of images per class, from the first one on.
        source: the folder with the four .gz files.

    Raises:
        DataError: as load() does.
    """
    for part, (images, labels), per_class in zip(
        ("train", "val"), load(source), (train_per_class, test_per_class), strict=True
    ):
        for kind, name in enumerate(CLASSES):
            folder = directory / part / name.replace("/", " or ").replace(" ", "-").lower()
            folder.mkdir(parents=True, exist_ok=True)
            for number, image in enumerate(images[labels == kind][:per_class]):
                Image.fromarray(image).save(folder / f"{number:04d}.png")


def _write_idx(path: Path, array: np.ndarray) -> None:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(header + array.tobytes(), mtime=0))
