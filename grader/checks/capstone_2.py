"""The capstone of the second part: fashion_trainer.py, which learners distribute so that it survives a kill.

It has the checks of the first capstone, and those of step 10: checkpoints, and training that resumes from the newest
one. One of the trainings that have to reach the accuracy of one process ends after an epoch, and is started again.
"""

from msgspec.structs import replace

from grader.checks import capstone_1, learning, production
from grader.checks.horovod import epochs, updates
from grader.checks.horovod import fashion_mnist
from grader.checks.horovod.fashion_mnist import EPOCHS, TARGET, WITNESSED, TrainingSize
from grader.checks.horovod.ranks import initialised
from grader.checks.part import Finding, Part
from grader.checks.production import imagenet_resnet50 as of_production
from grader.checks.production import resume
from grader.terms.facts import HorovodFacts
from grader.terms.job import IMAGES, LOGS, SHIPPED, Folders, Found, Topology, Witness, flags
from grader.reading.parsing import Source
from grader.terms.runs import HorovodRuns

part = Part("fashion_trainer.py", "fashion_trainer_solution.py", HorovodFacts)

FOLDERS = Folders(IMAGES, "kept", LOGS)

# Checkpoints of the first trainings are looked at, and resumed from, as in step 10.
COUNTED = TrainingSize(fashion_mnist.COUNTED.train_batches, fashion_mnist.COUNTED.test_batches, of_production.EPOCHS)

LEARNED_BATCH = 10
LEARNED = flags(
    data_dir=SHIPPED,
    hidden=64,
    batch_size=LEARNED_BATCH,
    val_batch_size=100,
    train_samples=1202,  # shares for 4 ranks do not come out even
    test_samples=1000,
    rate=0.004,
    target=2,
    log_dir=LOGS,
)
arguments = fashion_mnist.arguments(hidden=4, log_dir=LOGS)


def vary(cluster: Topology, draw: int) -> Topology:
    """Return the cluster with a witness as it is in the run of this number."""
    return replace(cluster, arguments=arguments(WITNESSED[draw], EPOCHS) + flags(target=TARGET))


part.vary = vary


def _clusters() -> tuple[Topology, ...]:
    """Return the clusters of steps 1 to 6 and 10."""
    *several, with_witness = COUNTED.clusters(arguments, arguments)
    name = of_production.FIRST["resumed"]
    longer = arguments(COUNTED, COUNTED.epochs)
    several = [
        replace(each, folders=FOLDERS, arguments=longer if each.name == name else each.arguments) for each in several
    ]
    first = next(each for each in several if each.name == name)
    again = replace(
        first,
        name="resumed",
        **of_production.UNEVEN,
        arguments=arguments(COUNTED, of_production.NEWEST + of_production.AGAIN),
        reserved=True,
        after=first.name,
        found=Found(
            copies=((of_production.EPOCHS, of_production.NEWEST), (1, of_production.NEWEST - 1)),
            leftovers=(of_production.NEWEST, of_production.NEWEST + 1),
        ),
    )
    # The script's rank is the one that has checkpoints to save.
    with_witness = replace(with_witness, description="on the first of 2 hosts", witness=Witness(1, first=2))
    return *several, with_witness, again


_whole = LEARNED + flags(epochs=3)
_two, _four = (learning.cluster(hosts, _whole) for hosts in learning.HOSTS)
_ended = replace(_two, arguments=LEARNED + flags(epochs=1))
_again = replace(
    _two, name="learning-again", description=f"{_two.description}, started again after an epoch", after=_two.name
)
learned = learning.Learning(learning.reference(_whole), ((_ended, _again), (_four,)), LEARNED_BATCH)

# --- What the steps ask for -------------------------------------------------------------------------------------------


def same_weights(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """From the end of the first batch on, all ranks hold rank 0's weights."""
    return updates.alike(runs, expected, source)


part.adopt(capstone_1.part, range(1, 7), instead={updates.same_weights: same_weights})
# Ranks that do not know of each other all save to one name, and chance decides whether one of them fails because of it.
by_chance = resume.saved_each_epoch, resume.renamed, resume.goes_on, resume.loaded_everywhere
part.adopt(production.part, (10,), instead={}, needs=dict.fromkeys(by_chance, (initialised,)))
part.check(
    4,
    needs=(initialised, capstone_1.mean_gradient),
    figure="weight_distance",
    clusters=_clusters(),
    hint="A callback works only if it is in the list that model.fit gets. All ranks need it, with the same root.",
)(same_weights)


# --- What the capstone asks for ---------------------------------------------------------------------------------------


@part.check(
    102,
    points=5,
    asks=("all ranks together see no more images than one process sees",),
    needs=(initialised, epochs.training_steps, resume.goes_on),
    clusters=(*_clusters(), *learned.clusters),
    hint="All ranks together see each training image once per epoch. A training that is started again has the epochs "
    "before its newest checkpoint behind it.",
)
def no_more_images(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again on 2 hosts, and on 4 hosts, all ranks together train on no more images than one process does."""
    return learned.images(runs, expected, source)


@part.check(
    102,
    points=5,
    asks=("the validation accuracy that one process reaches",),
    needs=(initialised, capstone_1.mean_gradient, epochs.training_steps, resume.state_restored, no_more_images),
    hint=learning.HINT,
)
def accuracy(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Started again on 2 hosts, and on 4 hosts, training reaches the accuracy that one process reaches."""
    return learned.accuracy(runs, expected, source)
