"""Whether images keep their labels: an accuracy on labels that follow a model's own answers says nothing."""

from typing import Any

import numpy as np

from grader.sandboxed import looks

FEW = 0.02  # of the images: two that are alike may have two labels
CHANGED = "a share of labels that change from one validation to the next"


class Labels:
    """The labels of images in validations, each as it was first seen."""

    def __init__(self) -> None:
        """Begin without any."""
        self.first: dict[int, int] = {}
        self.seen = self.others = 0

    def note(self, images: Any, labels: Any) -> None:
        """Note the labels of a batch: numbers, or one-hot."""
        answers = np.asarray(labels)
        answers = answers.argmax(-1) if answers.ndim > 1 and answers.shape[-1] > 1 else answers.ravel()
        for image, answer in zip(np.asarray(images), answers, strict=False):
            self.seen += 1
            self.others += self.first.setdefault(looks.number_of(image), int(answer)) != int(answer)

    @property
    def measure(self) -> str:
        """What an accuracy is that is measured by these labels; an empty text if they stay."""
        return CHANGED if self.others > FEW * self.seen else ""
