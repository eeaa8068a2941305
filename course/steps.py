"""The registry of steps: what each one is called, which program it starts from and which one it ends at.

A new step has one entry here; CONTRIBUTING.md says what else.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = ROOT / "solutions"


@dataclass(frozen=True)
class Step:
    """One step of the course."""

    number: int
    title: str
    starter_name: str  # in solutions/: what the learner begins the step with
    solution_name: str  # in solutions/: what is true after the step
    script: str  # the learner's file, as the step's notebook names it

    @property
    def name(self) -> str:
        """The name of the step's folder and notebook: step_NN."""
        return f"step_{self.number:02d}"

    @property
    def notebook(self) -> Path:
        """The lesson."""
        return NOTEBOOKS / self.name / f"{self.name}.ipynb"

    @property
    def starter(self) -> Path:
        """The program that the learner edits a copy of."""
        return SOLUTIONS / self.starter_name

    @property
    def solution(self) -> Path:
        """The complete program after the step."""
        return SOLUTIONS / self.solution_name

    @property
    def has_exercise(self) -> bool:
        """Whether the learner has something to edit."""
        return self.starter_name != self.solution_name


def _fashion_mnist(number: int, title: str) -> Step:
    """Return a step of the first part, which starts where the step before it ended."""
    before = "fashion_mnist.py" if number == 1 else f"fashion_mnist_after_step_{number - 1:02d}.py"
    return Step(number, title, before, f"fashion_mnist_after_step_{number:02d}.py", "fashion_mnist.py")


def _imagenet(number: int, title: str) -> Step:
    """Return a step of the second part, likewise."""
    before = "imagenet_resnet50.py" if number == 8 else f"imagenet_resnet50_after_step_{number - 1:02d}.py"
    return Step(number, title, before, f"imagenet_resnet50_after_step_{number:02d}.py", "imagenet_resnet50.py")


STEPS = (
    Step(0, "From one process to many", "fashion_mnist.py", "fashion_mnist.py", "fashion_mnist.py"),
    _fashion_mnist(1, "Initialise Horovod, one GPU per process"),
    _fashion_mnist(2, "Let one rank speak"),
    _fashion_mnist(3, "Average the gradients"),
    _fashion_mnist(4, "Start from the same weights"),
    _fashion_mnist(5, "Share the epoch"),
    _fashion_mnist(6, "Average the metrics"),
    Step(
        7,
        "Check your work, measure the speed-up",
        "fashion_mnist_solution.py",
        "fashion_mnist_solution.py",
        "../step_06/fashion_mnist.py",
    ),
    _imagenet(8, "Bring the data to every host"),
    _imagenet(9, "A share for every rank"),
    _imagenet(10, "Checkpoint and resume"),
    _imagenet(11, "The learning rate of many ranks"),
    Step(
        12,
        "One process, many devices",
        "imagenet_resnet50_mirrored.py",
        "imagenet_resnet50_mirrored.py",
        "../../solutions/imagenet_resnet50_mirrored.py",
    ),
    Step(
        13,
        "Several workers",
        "mnist_one_gpu.py",
        "mnist_multi_worker_after_step_13.py",
        "mnist_multi_worker.py",
    ),
    Step(
        14,
        "A worker dies",
        "mnist_multi_worker_after_step_13.py",
        "mnist_multi_worker_after_step_14.py",
        "mnist_multi_worker.py",
    ),
    Step(
        15,
        "Parameter servers",
        "parameter_server/one_gpu.py",
        "parameter_server/coordinator.py",
        "coordinator.py",
    ),
    Step(
        16,
        "An evaluator next to the training",
        "parameter_server/evaluate_once.py",
        "parameter_server/evaluator.py",
        "evaluator.py",
    ),
    Step(
        17,
        "Which engine to choose",
        "mnist_one_gpu.py",
        "mnist_one_gpu.py",
        "../../solutions/mnist_one_gpu.py",
    ),
)


def get(number: int) -> Step:
    """Return the step of this number.

    Raises:
        KeyError: there is no such step.
    """
    for step in STEPS:
        if step.number == number:
            return step
    raise KeyError(f"There is no step {number}; there are {STEPS[0].number} to {STEPS[-1].number}.")


def parse(numbers: str) -> list[Step]:
    """Return the steps that a list such as "1,2,5", "8-12", "1,3-5" or "all" names, in the order of the course.

    Raises:
        ValueError: the text is not such a list.
        KeyError: it names a step that does not exist.
    """
    if numbers == "all":
        return list(STEPS)
    chosen: set[int] = set()
    for part in numbers.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise ValueError(f"'{numbers}' names no steps; write them as 1,2,5 or 8-12 or all")
        chosen.update(range(int(first), int(last or first) + 1))
    return [get(number) for number in sorted(chosen)]
