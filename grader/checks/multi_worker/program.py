"""The part of mnist_multi_worker.py: its program, and the clusters and arguments that it is judged with."""

from msgspec.structs import replace

from grader.checks.part import Part
from grader.facts import TaskFacts
from grader.job import BATCH, LOGS, TaskSpec, Topology, flags
from grader.runner.reading import FILES
from grader.runner.synthetic_data import FASHION_MNIST

part = Part("mnist_multi_worker.py", "mnist_multi_worker_solution.py", TaskFacts, allowed=FILES)

EPOCHS = 2
SAVE_FREQ = 5  # steps
DIES_AFTER = 18  # batches: in the middle of the second epoch


def _workers(name: str, number: int) -> Topology:
    arguments = flags(log_dir=LOGS, batch_size=BATCH, epochs=EPOCHS, train_samples=FASHION_MNIST, save_freq=SAVE_FREQ)
    return Topology(f"{name}-workers", f"{name} workers", 1, number, 0, arguments, tasks=(TaskSpec("worker"),) * number)


TWO, THREE = _workers("two", 2), _workers("three", 3)
KILLED = replace(TWO, name="killed", reserved=True, dies=(1, DIES_AFTER))
RESTARTED = replace(TWO, name="restarted", reserved=True, after="killed")
