"""The part of imagenet_resnet50.py: its program, and the clusters and arguments that it is judged with."""

from msgspec.structs import replace

from grader.checks import training
from grader.checks.part import Part
from grader.terms.clusters import (
    BASE_LR,
    BATCH,
    CACHE,
    CHECKPOINT,
    CLASSES,
    HOST,
    IMAGES,
    LOGS,
    Folders,
    Found,
    Fresh,
    Resumed,
    changed,
    flags,
)
from grader.terms.facts import HorovodFacts

part = Part("imagenet_resnet50.py", HorovodFacts)

EPOCHS = 2
WARMUP_EPOCHS = {"two-hosts": 1, "three-ranks": 2}  # of the clusters that checks of the rate look at
NEWEST = 10  # after how many epochs the newest checkpoint is that is found again; another one is named after one less
AGAIN = 2  # epochs of a training that is resumed: each has an order of its own, and leaves a checkpoint
# Images per step of a validation, where it is not one. Keras reads two batches ahead and throws them away. A share has
# more, so a validation begins in the middle of it.
VAL_BATCHES = {"two-hosts": 2}
RESULTS = "kept"  # --train-url
DEFAULT_FORMAT = f"{CHECKPOINT}{{epoch}}.h5"  # of --checkpoint-format
FORMATS = {"two-hosts": f"{CHECKPOINT}{{epoch}}.hdf5"}  # where another one is given
BY_URL = "three-ranks"  # the cluster on which the store has URLs
# Where training is resumed. A checkpoint has to get to another host, and to all ranks there.
UNEVEN = {
    "description": "3 ranks, two of them on the second host, started again",
    "hosts": 2,
    "slots": 2,
    "on_first": 1,
}
UNREACHED = 1  # the host that cannot reach the store, in the cluster "unreached": neither the first nor the last


def val_batch(cluster: str) -> int:
    """Return the size of a validation batch on the cluster of this name."""
    return VAL_BATCHES.get(cluster, 1)


def _on(cluster: Fresh, epochs: int = EPOCHS, unreached: int | None = None) -> Fresh:
    """Return a cluster on which the small network is trained, with all folders below the host's own."""
    by_url = cluster.name == BY_URL
    arguments = flags(
        data_url=f"file://{IMAGES}" if by_url else IMAGES,
        train_url=f"file://{HOST}/{RESULTS}" if by_url else RESULTS,
        cache_dir=CACHE,
        log_dir=LOGS,
        model="small",
        image_size=32,
        classes=CLASSES,
        batch_size=BATCH,
        val_batch_size=val_batch(cluster.name),
        epochs=epochs,
        warmup_epochs=WARMUP_EPOCHS.get(cluster.name, 1),
        base_lr=BASE_LR,
        **({"checkpoint_format": FORMATS[cluster.name]} if cluster.name in FORMATS else {}),
    )
    return replace(cluster, arguments=arguments, folders=Folders(IMAGES, RESULTS, LOGS, unreached=unreached))


def _resumed(name: str, first: Fresh, epochs: int, **changes: object) -> Resumed:
    """Return a cluster that trains on, up to this epoch, in the folders of the training on another one."""
    return changed(_on(first, epochs), Resumed, name=name, reserved=True, after=first.name, **changes)


_, TWO_HOSTS, THREE_RANKS = training.CLUSTERS
_no_store = Fresh("unreached", "3 hosts with 2 ranks each, one of which cannot reach the store", 3, 2, 0, reserved=True)

# Each trained on from the beginning, and one where the data cannot be copied to one of three hosts.
FRESH = (_on(TWO_HOSTS), _on(THREE_RANKS), _on(_no_store, unreached=UNREACHED))
# Before step 10, a training on one host alone can be resumed.
_again = f"{THREE_RANKS.description}, started again"
SHARED = (*FRESH, _resumed("resumed-on-one-host", THREE_RANKS, EPOCHS + AGAIN, description=_again))
# And once more where training has ended before, and the newest checkpoint is not the last one by its name.
_found = Found(copies=((EPOCHS, NEWEST), (1, NEWEST - 1)), leftovers=(NEWEST, NEWEST + 1))  # not in the order of time
RESUMED = (*FRESH, _resumed("resumed", THREE_RANKS, NEWEST + AGAIN, found=_found, **UNEVEN))
# What each one resumes.
FIRST = {cluster.name: cluster.after for cluster in (*SHARED, *RESUMED) if isinstance(cluster, Resumed)}
