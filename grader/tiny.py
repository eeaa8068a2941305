"""The judge's own data: so few that a script is through with them in seconds."""

import colorsys
from pathlib import Path

from PIL import Image

from course import data
from grader.plans import CLASSES, TRAIN_IMAGES, VAL_IMAGES, WORKER_IMAGES

IMAGES = "images"  # the folder, in the data's, of the images for the second part


def make(directory: Path) -> None:
    """Write a cut of Fashion-MNIST and folders of images.

    Each image is of one colour all over, and no two are of the same. So it can be told from a batch which images are
    in it, however they were shifted, zoomed and flipped.
    """
    data.cut(Path(data.SHIPPED), directory, train_per_class=WORKER_IMAGES // 10, test_per_class=2)
    total = TRAIN_IMAGES + VAL_IMAGES
    for number in range(total):
        part, place = ("train", number) if number < TRAIN_IMAGES else ("val", number - TRAIN_IMAGES)
        folder = directory / IMAGES / part / f"class-{place % CLASSES}"
        folder.mkdir(parents=True, exist_ok=True)
        colour = tuple(round(255 * part) for part in colorsys.hsv_to_rgb(number / total, 0.8, 0.9))
        Image.new("RGB", (32, 32), colour).save(folder / f"{place:02d}.png")
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
