"""Models whose training is predicted: the size of their gradients, and how fast a GPU trains them."""

from dataclasses import dataclass

IMAGENET = 1_281_167  # training images, ILSVRC 2012
FUSION_BYTES = 64 * 2**20  # Horovod's default buffer until 0.20, as in all figures in data/; 128 MiB since 0.21

_TENSORFLOW = (
    "https://github.com/tensorflow/tensorflow/blob/5984ffefd320c5d71b801ee06079a51b91ea42c0/"
    "tensorflow/docs_src/performance/benchmarks.md"
)
_HOROVOD = "https://github.com/horovod/horovod/blob/d54e3a886486decc8cd21f5fbdfc34da9b16d7ee/README.md"


@dataclass(frozen=True)
class Model:
    """A model, with what a prediction needs to know of it.

    The parameters are those that tf.keras.applications trains. The epochs are those of the paper that introduced the
    model, or, for ResNet, of Goyal et al. (2017).
    """

    title: str
    parameters: int
    epochs: int
    images_per_second: float  # of one P100, the batch being 64
    source: str  # of images_per_second


MODELS = {
    "resnet50": Model("ResNet-50", 25_583_592, 90, 219, _TENSORFLOW),
    "resnet101": Model("ResNet-101", 44_601_832, 90, 136, _HOROVOD),
    "resnet152": Model("ResNet-152", 60_268_520, 90, 91.8, _TENSORFLOW),
    "inceptionv3": Model("Inception V3", 23_817_352, 100, 142, _TENSORFLOW),
    "vgg16": Model("VGG-16", 138_357_544, 74, 154, _TENSORFLOW),
}

# For the published figures only: no rate of one GPU is known.
OTHER_PARAMETERS = {"idefics80b": 80_000_000_000}


def parameters(model: str) -> int | None:
    """Return how many parameters a model trains, or None if that is not known here."""
    return MODELS[model].parameters if model in MODELS else OTHER_PARAMETERS.get(model)
