"""The part of imagenet_resnet50.py: its program, and the clusters and arguments that it is judged with."""

from msgspec.structs import replace

from grader.checks import training, witnessed
from grader.checks.part import Part
from grader.terms.facts import HorovodFacts
from grader.terms.job import BASE_LR, BATCH, CACHE, HOST, IMAGES, LOGS, RANK, Folders, Found, Topology, Witness, flags
from grader.runner.synthetic_data import CLASSES

part = Part("imagenet_resnet50.py", "imagenet_resnet50_solution.py", HorovodFacts)

EPOCHS = 2
WITNESSED_EPOCHS = 2
BASE_LRS = BASE_LR, 0.008, 0.012, 0.016  # of a training with a witness
WARMUP_EPOCHS = {"two-hosts": 1, "three-ranks": 2}  # of the clusters that checks of the rate look at
NEWEST = 10  # after how many epochs the newest checkpoint is that is found again; another one is named after one less
AGAIN = 2  # epochs of a training that is resumed: each has an order of its own, and leaves a checkpoint
# Images per step of a validation, where it is not one. Keras reads two batches ahead and throws them away. A share has
# more, so a validation begins in the middle of it.
VAL_BATCHES = {"two-hosts": 2}
RESULTS = "kept"  # --train-url
BY_URL = "three-ranks"  # the cluster on which the store has URLs, and --seed a number of its own for every rank
# Where training is resumed. A checkpoint has to get to another host, and to all ranks there.
UNEVEN = {"description": "3 ranks, two of them on the second host", "hosts": 2, "slots": 2, "on_first": 1}
UNREACHED = 1  # the host that cannot reach the store, in the cluster "unreached": neither the first nor the last


def val_batch(cluster: str) -> int:
    """Return the size of a validation batch on the cluster of this name."""
    return VAL_BATCHES.get(cluster, 1)


def _on(cluster: Topology, epochs: int = EPOCHS, base_lr: float = BASE_LR) -> Topology:
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
        base_lr=base_lr,
        **({"seed": RANK} if by_url else {}),
    )
    # Augmentation blurs the colours of images: two digits of them stay.
    return replace(cluster, arguments=arguments, folders=Folders(IMAGES, RESULTS, LOGS), digits=2)


def _resumed(name: str, first: Topology) -> Topology:
    """Return a cluster that trains on in the folders of the training that has ended on another one."""
    return replace(_on(first, EPOCHS + AGAIN), name=name, reserved=True, after=first.name)


_, TWO_HOSTS, THREE_RANKS = training.CLUSTERS
_two_hosts, _three_ranks = _on(TWO_HOSTS), _on(THREE_RANKS)
_unreached = replace(
    _on(Topology("unreached", "3 hosts with 2 ranks each, one of which cannot reach the store", 3, 2, 0)),
    reserved=True,
    unreached=UNREACHED,
)

# Each trained on from the beginning, and one where the data cannot be copied to one of three hosts.
FRESH = (_two_hosts, _three_ranks, _unreached)
# The other rank is a witness: the script's is the one that has checkpoints to write, and weights to send.
_witnessed = replace(
    _on(Topology(witnessed.NAME, "on the first of 2 hosts", 2, 1, 1), WITNESSED_EPOCHS),
    reserved=True,
    witness=Witness(1),
)
# Before step 10, a training on one host alone can be resumed.
SHARED = (
    *FRESH,
    _witnessed,
    _resumed("resumed-on-one-host", _three_ranks),
)
# And once more where training has ended before, and the newest checkpoint is not the last one by its name.
_found = replace(
    _resumed("resumed", _three_ranks),
    **UNEVEN,
    arguments=_on(THREE_RANKS, NEWEST + AGAIN).arguments,
    found=Found(copies=((EPOCHS, NEWEST), (1, NEWEST - 1)), leftovers=(NEWEST, NEWEST + 1)),  # not in the order of time
)
RESUMED = (*FRESH, _witnessed, _found)
FIRST = {cluster.name: cluster.after for cluster in (*SHARED, *RESUMED) if cluster.after}  # what each one resumes


def vary(cluster: Topology, draw: int) -> Topology:
    """Return the cluster with a witness as it is in the run of this number."""
    return replace(cluster, arguments=_on(cluster, WITNESSED_EPOCHS, BASE_LRS[draw]).arguments)


part.vary = vary
