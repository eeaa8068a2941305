"""The part of mnist_multi_worker.py: its program, and the clusters and arguments that it is judged with."""

from grader.checks.part import Part
from grader.terms.clusters import BATCH, FASHION_MNIST, LOGS, Fresh, Killed, Resumed, TaskSpec, changed, flags
from grader.terms.facts import TaskFacts

part = Part("mnist_multi_worker.py", TaskFacts)

EPOCHS = 2
MORE_EPOCHS = 5  # for three workers to continue what two trained for 2 epochs, the steps of 3 of theirs
SAVE_FREQ = 5  # steps
RESUMED_FREQ = 7  # where a worker is killed
DIES_AFTER = 18  # batches: in the middle of the second epoch


def _workers(name: str, number: int, epochs: int = EPOCHS, **more: object) -> Fresh:
    chosen = {"save_freq": SAVE_FREQ} | more
    arguments = flags(log_dir=LOGS, batch_size=BATCH, epochs=epochs, train_samples=FASHION_MNIST, **chosen)
    return Fresh(f"{name}-workers", f"{name} workers", 1, number, 0, arguments, tasks=(TaskSpec("worker"),) * number)


TWO, THREE = _workers("two", 2, communication="RING"), _workers("three", 3, communication="NCCL")
CONTINUED = changed(_workers("three", 3, MORE_EPOCHS), Resumed, after=TWO.name)  # the flag left out
_saving = _workers("two", 2, save_freq=RESUMED_FREQ)
KILLED = changed(_saving, Killed, name="killed", reserved=True, task=1, batches=DIES_AFTER)
RESTARTED = changed(_saving, Resumed, name="restarted", reserved=True, after="killed")
