"""The part of fashion_mnist.py: its program, and the clusters and arguments that it is judged with."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from grader.checks.part import Part
from grader.checks.training import CLUSTERS
from grader.terms.clusters import BATCH, AnyCluster, Refused, flags
from grader.terms.facts import HorovodFacts

part = Part("fashion_mnist.py", HorovodFacts)

# Ranks are stopped there once they have built a model, which shows their GPUs. One check knows how each has to end.
SHORT_OF_GPUS = Refused("short-of-gpus", "3 ranks on one host with 2 GPUs", 1, 3, 2, reserved=True)
ONE_GPU_EACH = Refused("one-gpu-each", "2 ranks on one host, each of which is shown one GPU", 1, 2, 1, reserved=True)

VAL_BATCH = 2 * BATCH  # neither the size of a training batch nor the number of passes

# Depths of the network. With a block in each group, all lines of the program are run, and one cluster is enough for
# that: what ranks do together is the same in a network without blocks, and takes a third of the time.
ONE_BLOCK, NO_BLOCKS = 10, 4


@dataclass(frozen=True)
class TrainingSize:
    """How much a script trains: on images of the training and of the test set, and epochs on one of the clusters."""

    train_images: int
    test_images: int
    epochs: int

    @property
    def train_batches(self) -> int:
        """The batches of one pass over the training set; the last one may be smaller."""
        return -(-self.train_images // BATCH)

    @property
    def test_batches(self) -> int:
        """Those of the test set."""
        return -(-self.test_images // VAL_BATCH)

    def clusters(self, whole: "Arguments", quick: "Arguments") -> tuple[AnyCluster, ...]:
        """Return the clusters, with a program's arguments for this.

        Args:
            whole: for a network in which all lines of the program are run; one cluster has it.
            quick: for one that is trained in less time.
        """
        arguments = whole(self, 1), quick(self, self.epochs), *(quick(self, 1) for _ in range(3))
        clusters: tuple[AnyCluster, ...] = (*CLUSTERS, SHORT_OF_GPUS, ONE_GPU_EACH)
        own = zip(clusters, arguments, strict=True)
        return tuple(msgspec.structs.replace(cluster, arguments=each) for cluster, each in own)


Arguments = Callable[[TrainingSize, int], tuple[str, ...]]  # of a size and a number of epochs


def arguments(**own: object) -> Arguments:
    """Return a program's arguments for training so much, after these of its own."""
    return lambda size, epochs: flags(
        **own,
        batch_size=BATCH,
        val_batch_size=VAL_BATCH,
        train_samples=size.train_images,
        test_samples=size.test_images,
        epochs=epochs,
    )


WHOLE, QUICK = (arguments(depth=depth, widen_factor=1) for depth in (ONE_BLOCK, NO_BLOCKS))

# Each batch takes its time, and a share for three ranks is something.
FEW = TrainingSize(4 * BATCH, 3 * VAL_BATCH, 2)
# Where batches are counted: however a share is rounded, one for two ranks is none for three, one of the training set is
# none of the test set, also not of several passes, and one of a share is still something. Every second image is another
# number of batches for each of two ranks: ranks that share out images, and not batches, then take different numbers of
# steps. More epochs than ranks, so that data that end after one pass show.
COUNTED = TrainingSize(8 * BATCH + 1, 6 * VAL_BATCH, 3)
