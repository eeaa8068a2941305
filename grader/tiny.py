"""The judge's own data: so few that a script is through with them in seconds."""

import colorsys
from pathlib import Path

import numpy as np
from PIL import Image

from course import data
from grader.plans import CLASSES, TRAIN_IMAGES, VAL_IMAGES, WORKER_IMAGES

IMAGES = "images"  # the folder, in the data's, of the images for the second part


def make(directory: Path) -> None:
    """Write what stands for Fashion-MNIST, and folders of images.

    Each image is of one colour or grey nearly all over, and no two are of the same. So it can be told from a batch
    which images are in it, however they were shifted, zoomed and flipped.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", WORKER_IMAGES), ("t10k", WORKER_IMAGES // 3)):
        numbers = np.arange(count, dtype=np.uint8)
        data.write(directory, part, np.stack([_grey(number, count) for number in numbers]), numbers % 10)
    total = TRAIN_IMAGES + VAL_IMAGES
    for number in range(total):
        part, place = ("train", number) if number < TRAIN_IMAGES else ("val", number - TRAIN_IMAGES)
        folder = directory / IMAGES / part / f"class-{place % CLASSES}"
        folder.mkdir(parents=True, exist_ok=True)
        colour = tuple(round(255 * part) for part in colorsys.hsv_to_rgb(number / total, 0.8, 0.9))
        Image.new("RGB", (32, 32), colour).save(folder / f"{place:02d}.png")
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _grey(number: int, count: int) -> np.ndarray:
    """Return one of so many images (28, 28): its grey all over, and two dots for black and for white.

    The first third of them are so different in brightness that augmentation does not blur which is which.
    """
    third = count // 3
    place = 3 * (number % third) + number // third
    image = np.full((28, 28), 8 + 240 * place // count, np.uint8)
    image[14, 13], image[14, 14] = 0, 255
    return image
