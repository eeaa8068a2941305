"""Labels that follow a model's own answers are seen, and those of a data set pass."""

import numpy as np

from grader.sandboxed.labels import CHANGED, Labels

IMAGES = np.random.default_rng(0).integers(0, 256, (100, 28, 28))
ANSWERS = np.arange(100) % 10


def test_labels_that_stay_say_nothing_also_one_hot_and_where_two_images_are_alike():
    labels = Labels()
    for images, answers in ((IMAGES, ANSWERS), (IMAGES / 255, np.eye(10)[ANSWERS]), (IMAGES[:1], ANSWERS[1:2])):
        labels.note(images, answers)
    assert labels.measure == ""


def test_labels_that_change_are_no_measure():
    labels = Labels()
    labels.note(IMAGES, ANSWERS)
    labels.note(IMAGES, (ANSWERS + (np.arange(100) < 10)) % 10)
    assert labels.measure == CHANGED
