"""The part of mnist_multi_worker.py: its program, and the clusters and arguments that it is judged with."""

from msgspec.structs import replace

from grader.checks.part import Part
from grader.terms.facts import TaskFacts
from grader.terms.job import BATCH, LOGS, TaskSpec, Topology, flags
from grader.runner.synthetic_data import FASHION_MNIST

part = Part("mnist_multi_worker.py", "mnist_multi_worker_solution.py", TaskFacts)

EPOCHS = 2
MORE_EPOCHS = 5  # for three workers to continue what two trained for 2 epochs, the steps of 3 of theirs
SAVE_FREQ = 5  # steps
RESUMED_FREQ = 7  # where a worker is killed
DIES_AFTER = 18  # batches: in the middle of the second epoch


def _workers(name: str, number: int, epochs: int = EPOCHS, **more: object) -> Topology:
    chosen = {"save_freq": SAVE_FREQ} | more
    arguments = flags(log_dir=LOGS, batch_size=BATCH, epochs=epochs, train_samples=FASHION_MNIST, **chosen)
    return Topology(f"{name}-workers", f"{name} workers", 1, number, 0, arguments, tasks=(TaskSpec("worker"),) * number)


TWO, THREE = _workers("two", 2, communication="RING"), _workers("three", 3, communication="NCCL")
CONTINUED = replace(_workers("three", 3, MORE_EPOCHS), after=TWO.name)  # the flag left out
KILLED = replace(_workers("two", 2, save_freq=RESUMED_FREQ), name="killed", reserved=True, dies=(1, DIES_AFTER))
RESTARTED = replace(KILLED, name="restarted", after="killed", dies=None)
