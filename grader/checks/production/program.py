"""The part of imagenet_resnet50.py: its program, and the clusters and arguments that it is judged with."""

from msgspec.structs import replace

from grader.checks import training
from grader.checks.part import Part
from grader.facts import HorovodFacts
from grader.job import BASE_LR, BATCH, IMAGES, LOGS, Folders, Topology, flags
from grader.runner.reading import FILES
from grader.runner.synthetic_data import CLASSES

part = Part("imagenet_resnet50.py", "imagenet_resnet50_solution.py", HorovodFacts, allowed=FILES)

EPOCHS, WARMUP_EPOCHS = 2, 1
RESULTS = "kept"  # --train-url


def _on(cluster: Topology, epochs: int = EPOCHS, data_url: str = IMAGES) -> Topology:
    """Return a cluster on which the small network is trained, with all folders below the host's own."""
    arguments = flags(
        data_url=data_url,
        train_url=RESULTS,
        cache_dir="copy",
        log_dir=LOGS,
        model="small",
        image_size=32,
        classes=CLASSES,
        batch_size=BATCH,
        val_batch_size=BATCH,
        epochs=epochs,
        warmup_epochs=WARMUP_EPOCHS,
        base_lr=BASE_LR,
    )
    # Augmentation blurs the colours of images: two digits of them stay.
    return replace(cluster, arguments=arguments, folders=Folders(data_url, RESULTS, LOGS), digits=2)


_fresh = tuple(_on(cluster) for cluster in training.CLUSTERS)
_nowhere = replace(_on(training.CLUSTERS[0], data_url=f"{IMAGES}-that-are-not-there"), name="no-data", reserved=True)
_resumed = replace(_on(training.CLUSTERS[1], epochs=EPOCHS + 1), name="resumed", reserved=True, after="two-hosts")

FRESH = (*_fresh, _nowhere)  # each trained on from the beginning, and once where no data can be copied
RESUMED = (*FRESH, _resumed)  # and once more where training has ended before
