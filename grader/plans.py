"""On which simulated clusters, and with which arguments, a script is run to judge it at a step."""

from dataclasses import dataclass, replace

from course import launch
from course.steps import Step

# Batches of the training and of the test set where a check counts them. However a share is rounded, one for two ranks
# is none for three, one of the training set is none of the test set, and one of a share is still something.
TRAIN_BATCHES, TEST_BATCHES = 9, 6
FEW_BATCHES = 4, 3  # where none does: each takes its time, and a share for three ranks is something, too
COUNTING = {5}  # steps whose check counts batches
COUNTED_EPOCHS = 3  # then, on one cluster of two: more than its ranks, so that data that end after one pass show

BATCH = 2  # images

# Depths of the first part's network. With a block in each group, all lines of the program are run, and one cluster is
# enough for that: what ranks do together is the same in a network without blocks, and takes a third of the time.
ONE_BLOCK, NO_BLOCKS = 10, 4

PRODUCTION = 8  # the first step of the second part

LOGS = "left"  # --log-dir
IMAGES = "{images}"  # in an argument: the folder with the judge's own images, wherever the script can see it
CLASSES, TRAIN_IMAGES, VAL_IMAGES = 6, 13, 7  # of those: shares for two and for three ranks do not come out even
EPOCHS, WARMUP_EPOCHS = 2, 1
BASE_LR = 0.01


WORKERS = 13  # the first step of the third part
WORKER_IMAGES = 60  # a sixth is held out, and the rest is 12 batches for two workers and 8 for three, and a little more
SAVE_FREQ = 5  # steps
DIES_AFTER = 18  # batches: in the middle of the second epoch
CHECKPOINTS = 3  # that a training leaves for an evaluator
SERVED_BATCHES = TRAIN_IMAGES // BATCH  # an epoch, on a cluster with parameter servers


@dataclass(frozen=True)
class Task:
    """A task of a TF_CONFIG cluster: its kind, and where that is not the script, the solution that does it."""

    kind: str
    program: str | None = None
    arguments: tuple[str, ...] = ()  # of that program


@dataclass(frozen=True)
class Topology:
    """Simulated hosts, each with slots for ranks, GPUs and a folder of its own, and what a script is told there.

    Or, where there are tasks, a cluster of TensorFlow's, with a folder for all.
    """

    name: str
    description: str
    hosts: int
    slots: int
    gpus: int
    arguments: tuple[str, ...] = ()
    after: str | None = None  # the topology that has been run before, in the same folders
    aside: bool = False  # judged by one check only, which knows what end to expect
    tasks: tuple[Task, ...] = ()
    dies: tuple[int, int] | None = None  # the task that is killed, and after how many batches


CLUSTERS = (
    Topology("one-host", "2 ranks on one host", 1, 2, 2),
    Topology("two-hosts", "2 hosts with a rank each", 2, 1, 2),
    Topology("three-ranks", "3 ranks on one host without GPUs", 1, 3, 0),
)


def plan(steps: list[Step]) -> tuple[Topology, ...]:
    """Return what a script is run on to judge these steps, all of one part."""
    numbers = {step.number for step in steps}
    if max(numbers) < PRODUCTION:
        counting = numbers & COUNTING
        batches = (TRAIN_BATCHES, TEST_BATCHES) if counting else FEW_BATCHES
        first, second, third = CLUSTERS
        return (
            replace(first, arguments=fashion_mnist(*batches, ONE_BLOCK, 1)),
            replace(second, arguments=fashion_mnist(*batches, NO_BLOCKS, COUNTED_EPOCHS if counting else 1)),
            replace(third, arguments=fashion_mnist(*batches, NO_BLOCKS, 1)),
        )
    if 15 in numbers:
        return servers()
    if 16 in numbers:
        return evaluator()
    if min(numbers) >= WORKERS:
        return workers(restarted=14 in numbers)
    fresh = [replace(cluster, arguments=imagenet(EPOCHS)) for cluster in CLUSTERS]
    nowhere = replace(fresh[0], name="no-data", aside=True, arguments=imagenet(EPOCHS, f"{IMAGES}-that-are-not-there"))
    resumed = replace(fresh[1], name="resumed", aside=True, arguments=imagenet(EPOCHS + 1), after="two-hosts")
    return (*fresh, nowhere, *([resumed] if 10 in numbers else []))


def workers(restarted: bool) -> tuple[Topology, ...]:
    """Return clusters of workers: three, and two, of which one is killed where it is a restart that is judged."""
    arguments = _flags(log_dir=LOGS, batch_size=BATCH, epochs=EPOCHS, train_samples=WORKER_IMAGES, save_freq=SAVE_FREQ)
    two, three = (
        Topology(f"{name}-workers", f"{name} workers", 1, number, 0, arguments, tasks=(Task("worker"),) * number)
        for name, number in (("two", 2), ("three", 3))
    )
    if not restarted:
        return two, three
    killed = replace(two, name="killed", aside=True, dies=(1, DIES_AFTER))
    return three, killed, replace(two, name="restarted", aside=True, after="killed")


def servers() -> tuple[Topology, ...]:
    """Return a cluster with two parameter servers, whose coordinator is killed, and the same started again."""
    server = "parameter_server/worker_and_ps.py"
    tasks = (Task("chief"), *(Task(kind, server) for kind in ("ps", "ps", "worker", "worker")))
    arguments = mobilenet(EPOCHS)
    killed = Topology(
        "killed", "2 parameter servers and 2 workers", 1, len(tasks), 2, arguments, aside=True, tasks=tasks
    )
    return (
        replace(killed, dies=(0, SERVED_BATCHES + 2)),
        replace(killed, name="restarted", after="killed", aside=False),
    )


def evaluator() -> tuple[Topology, ...]:
    """Return an evaluator beside a training in one process, which writes what a coordinator would."""
    arguments = mobilenet(CHECKPOINTS)
    tasks = (Task("chief", "parameter_server/one_gpu.py", arguments), Task("evaluator"))
    return (Topology("evaluator", "beside a training", 1, len(tasks), 2, arguments, tasks=tasks),)


def mobilenet(epochs: int) -> tuple[str, ...]:
    """Return the arguments of the programs for parameter servers: the narrowest network."""
    return _flags(
        data_dir=IMAGES,
        log_dir=LOGS,
        image_size=32,
        classes=CLASSES,
        alpha=0.35,
        batch_size=BATCH,
        epochs=epochs,
    )


def fashion_mnist(train_batches: int, test_batches: int, depth: int, epochs: int) -> tuple[str, ...]:
    """Return the first part's arguments: epochs of so many batches, and the narrowest network of this depth."""
    return _flags(
        depth=depth,
        widen_factor=1,
        batch_size=BATCH,
        val_batch_size=BATCH,
        train_samples=BATCH * train_batches,
        test_samples=BATCH * test_batches,
        epochs=epochs,
    )


def imagenet(epochs: int, data_url: str = IMAGES) -> tuple[str, ...]:
    """Return the second part's arguments: the small network, and folders below the host's own."""
    return _flags(
        data_url=data_url,
        train_url="kept",
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


def _flags(**values: object) -> tuple[str, ...]:
    return tuple(launch.command_line(values))
