"""Made-up ranks of fashion_mnist.py, each of which does what the solution does, but for what is given."""

import itertools

from grader.reading import parsing
from grader.terms.clusters import BATCH
from grader.terms.facts import Batch, Epoch, Fit, HorovodFacts, State
from grader.terms.runs import Rank, Runs
from tests.grader.checks.made_up import MadeUp

SCRIPT = parsing.read(
    "hvd.init()\n"
    "tf.config.set_visible_devices(gpu)\n"
    "set_memory_growth(gpu, True)\n"
    "verbose = 1\n"
    "callbacks = [BroadcastGlobalVariablesCallback(0), MetricAverageCallback(), StopAtAccuracy(), TensorBoard()]\n"
    "model.fit(\n    steps_per_epoch=4,\n    validation_steps=9,\n    callbacks=callbacks,\n)\n"
    "validation_data = test.flow()\n"
)
ORDER = ["init", "model", "fit"]
WHERE = "2 ranks on one host"
BROADCAST = "broadcast of a tensor (3,) in broadcast_variables"
GRADIENT = "allreduce of a tensor (3,) in allreduce_grads"
METRIC = "allreduce of a tensor () in _average_metrics_in_place"
ERROR = {"error": "ValueError: odd", "error_line": 3, "exit": 1}


GREYS = (0.618034 * number % 1 for number in itertools.count())  # of images that are all different


def epoch(steps=4, validation=9, own=0.5):
    images, validated = (
        [f"{grey:.4f}" for grey in itertools.islice(GREYS, BATCH * count)] for count in (steps, validation)
    )
    return Epoch(steps, validation, {"val_accuracy": own}, images, validated)


def fit(verbose=0, each=None, reads=((0, "StopAtAccuracy", "val_accuracy", 0.5),), steps=4, **others):
    """Return what a rank of the solution says of model.fit, but for what is given."""
    values = {"log_dirs": [], "callbacks": ["StopAtAccuracy"], "batches": [batch()]} | others
    start = State([1.0], [], 0, [])
    return Fit(
        verbose=verbose,
        optimizer={},
        loss_weights=[],
        steps_per_epoch=steps,
        weights_built=[1.0],
        initial_epoch=0,
        begin=start,
        epochs=[epoch()] if each is None else each,
        reads=list(reads),
        **values,
    )


def batch(after=(2.0,)):
    return Batch(0.01, [1.0], [1.0], [2.0], None if after is None else list(after), [0.0])


def rank(number, fits=None, order=ORDER, gpus=None, growth=None, lines=None, **seen):
    """Return a rank as the solution's, but for what is given."""
    gpus = [number] if gpus is None else gpus
    values = {
        "exit": 0,
        "ended_for": None,
        "collective": "",
        "stdout": "" if number else "Epoch 1",
        "stderr": "",
    } | seen
    cluster = values.pop("cluster", WHERE)
    facts = HorovodFacts(
        order=list(order),
        lines=lines or {},
        gpus=gpus,
        memory_growth=gpus if growth is None else growth,
        fits=[fit(int(not number))] if fits is None else fits,
    )
    return Rank(number, 0, f"Rank {number}", cluster, facts=facts, reported=True, **values)


def runs(*ranks, gpus=True):
    """Return the runs of these ranks; where there are no GPUs, of a cluster in which the solution sees none."""
    return Runs({"one-host" if gpus else "three-ranks": list(ranks)}, traffic=1000)


HOROVOD = MadeUp(lambda: runs(rank(0), rank(1)), SCRIPT)


def first(**values):
    """Return a change of rank 0, which is as the solution's but for what is given."""
    return lambda runs: runs.clusters["one-host"].__setitem__(0, rank(0, **values))


def second(**values):
    """Return the same change of rank 1."""
    return lambda runs: runs.clusters["one-host"].__setitem__(1, rank(1, **values))


def fitted(**values):
    """Return a change of what rank 1 says of model.fit."""
    return second(fits=[fit(**values)])
