"""The capstone of the first part: fashion_mlp.py, which learners distribute without guidance.

It has the checks of steps 1 to 6, with two differences (a free learning rate, one pass over the test set), and two of
its own: on 2 and on 4 hosts, training has to reach the accuracy of one process with no more images.
"""

from grader.checks import horovod, learning
from grader.checks.horovod import epochs, fashion_mnist, updates
from grader.checks.horovod.fashion_mnist import COUNTED
from grader.checks.horovod.ranks import initialised
from grader.checks.part import Part
from grader.reading.parsing import Source
from grader.terms.clusters import SHIPPED, flags
from grader.terms.facts import HorovodFacts
from grader.terms.findings import Finding
from grader.terms.runs import HorovodRuns

part = Part("fashion_mlp.py", HorovodFacts)

LEARNED_BATCH = 10
LEARNED_SIZE = flags(
    data_dir=SHIPPED,
    hidden=64,
    batch_size=LEARNED_BATCH,
    val_batch_size=100,
    train_samples=1202,  # shares for 4 ranks do not come out even
    test_samples=1000,
)
LEARNED = LEARNED_SIZE + flags(learning_rate=0.004, epochs=3, stop_at=2)
learned = learning.Learning(
    learning.cluster(1, LEARNED), tuple((learning.cluster(hosts, LEARNED),) for hosts in learning.HOSTS), LEARNED_BATCH
)
arguments = fashion_mnist.arguments(hidden=4)


# --- What steps 1 to 6 ask for ----------------------------------------------------------------------------------------


def mean_gradient(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every rank applies the mean of all ranks' gradients, at the learning rate of its optimizer."""
    return updates.averaged(runs, expected, source, any_rate=True)


def validation_steps(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The ranks together make one pass over the test set in an epoch."""
    return epochs.shared_validation(runs, source, passes=1)


part.adopt(
    horovod.part,
    range(1, 7),
    instead={updates.mean_gradient: mean_gradient, epochs.validation_steps: validation_steps},
)
part.check(
    3,
    look_at=updates.WRAPPER,
    needs=(initialised,),
    hint="Which optimizer does model.compile get? It has to be one that averages, and all ranks have to have it.",
)(mean_gradient)
part.check(
    5,
    points=5,
    look_at=("validation_steps", *epochs.STEPS, "fit"),
    needs=(initialised,),
    clusters=COUNTED.clusters(arguments, arguments),
    hint="Each rank validates on its share of the test images.",
)(validation_steps)


# --- What the capstone asks for ---------------------------------------------------------------------------------------


no_more_images, accuracy = learned.ask(
    part,
    101,
    "On 2 and on 4 hosts",
    hint="All ranks together see each training image once per epoch, for as many epochs as --epochs says.",
    clusters=COUNTED.clusters(arguments, arguments),
    needs=(initialised, epochs.training_steps),
    learns=(mean_gradient,),
)
