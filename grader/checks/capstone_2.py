"""The capstone of the second part: fashion_trainer.py, which learners distribute so that it survives a kill.

It has the checks of the first capstone, and those of step 10: checkpoints, and training that resumes from the newest
one. One of the trainings that have to reach the accuracy of one process ends after an epoch, and is started again.
"""

import dataclasses

from msgspec.structs import replace

from grader.checks import capstone_1, learning, production
from grader.checks.horovod import epochs, fashion_mnist
from grader.checks.horovod.ranks import initialised
from grader.checks.part import Part
from grader.checks.production import imagenet_resnet50, resume
from grader.terms.clusters import IMAGES, LOGS, AnyCluster, Folders, Found, Resumed, changed, flags
from grader.terms.facts import HorovodFacts

part = Part("fashion_trainer.py", HorovodFacts)

FOLDERS = Folders(IMAGES, "kept", LOGS)

# Checkpoints of the first trainings are looked at, and resumed from, as in step 10.
COUNTED = dataclasses.replace(fashion_mnist.COUNTED, epochs=imagenet_resnet50.EPOCHS)

LEARNED = capstone_1.LEARNED_SIZE + flags(rate=0.004, target=2, log_dir=LOGS)
arguments = fashion_mnist.arguments(hidden=4, log_dir=LOGS)


def _clusters() -> tuple[AnyCluster, ...]:
    """Return the clusters of steps 1 to 6 and 10."""
    name = imagenet_resnet50.FIRST["resumed"]
    longer = arguments(COUNTED, COUNTED.epochs)
    several = [
        replace(each, folders=FOLDERS, arguments=longer if each.name == name else each.arguments)
        for each in COUNTED.clusters(arguments, arguments)
    ]
    first = next(each for each in several if each.name == name)
    epochs, newest = imagenet_resnet50.EPOCHS, imagenet_resnet50.NEWEST
    again = changed(
        first,
        Resumed,
        name="resumed",
        **imagenet_resnet50.UNEVEN,
        arguments=arguments(COUNTED, newest + imagenet_resnet50.AGAIN),
        reserved=True,
        after=first.name,
        found=Found(copies=((epochs, newest), (1, newest - 1)), leftovers=(newest, newest + 1)),
    )
    return *several, again


_whole = LEARNED + flags(epochs=3)
_two, _four = (learning.cluster(hosts, _whole) for hosts in learning.HOSTS)
_ended = replace(_two, arguments=LEARNED + flags(epochs=1))
_again = changed(
    _two,
    Resumed,
    name="learning-again",
    description=f"{_two.description}, started again after an epoch",
    after=_two.name,
)
learned = learning.Learning(learning.cluster(1, _whole), ((_ended, _again), (_four,)), capstone_1.LEARNED_BATCH)

# --- What the steps ask for -------------------------------------------------------------------------------------------


part.adopt(capstone_1.part, range(1, 7), instead={})
# Ranks that do not know of each other all save to one name, and chance decides whether one of them fails because of it.
by_chance = resume.saved_each_epoch, resume.renamed, resume.goes_on, resume.loaded_everywhere
part.adopt(production.part, (10,), instead={}, needs=dict.fromkeys(by_chance, (initialised,)))


# --- What the capstone asks for ---------------------------------------------------------------------------------------


no_more_images, accuracy = learned.ask(
    part,
    102,
    "Started again on 2 hosts, and on 4 hosts",
    hint="All ranks together see each training image once per epoch. A training that is started again has the epochs "
    "before its newest checkpoint behind it.",
    clusters=_clusters(),
    needs=(initialised, epochs.training_steps, resume.goes_on),
    learns=(capstone_1.mean_gradient, resume.state_restored),
)
