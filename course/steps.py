"""The registry of steps: what each one is called, which program it starts from and which one it ends at.

A new step has one entry here; CONTRIBUTING.md says what else.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = ROOT / "solutions"
CAPSTONE = 100  # is added to the number of a capstone: a part's last assignment, a whole program without guidance


@dataclass(frozen=True)
class Step:
    """One step of the course, or the capstone of a part."""

    number: int  # of a capstone: CAPSTONE and that of its part
    title: str
    starter_name: str  # in solutions/: what the learner begins the step with
    solution_name: str  # in solutions/: what is true after the step
    script: str  # the learner's file, as the step's notebook names it

    @property
    def is_capstone(self) -> bool:
        """Whether this is the capstone of a part."""
        return self.number > CAPSTONE

    @property
    def name(self) -> str:
        """The name of the step's folder and notebook: step_NN, or capstone_N."""
        return f"capstone_{self.number - CAPSTONE}" if self.is_capstone else f"step_{self.number:02d}"

    @property
    def label(self) -> str:
        """What the step is called in a sentence: step 3, or capstone 1."""
        return f"capstone {self.number - CAPSTONE}" if self.is_capstone else f"step {self.number}"

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
    Step(
        18,
        "Several hosts",
        "hosts/launch_starter.sh",
        "hosts/launch.sh",
        "launch.sh",
    ),
    Step(
        19,
        "Under a scheduler",
        "hosts/job_starter.sbatch",
        "hosts/job.sbatch",
        "job.sbatch",
    ),
    Step(
        20,
        "Hosts that come and go",
        "hosts/fashion_mnist_elastic_starter.py",
        "hosts/fashion_mnist_elastic.py",
        "fashion_mnist_elastic.py",
    ),
    Step(101, "A program of your own to distribute", "fashion_mlp.py", "fashion_mlp_solution.py", "fashion_mlp.py"),
    Step(
        102,
        "A training that survives a kill",
        "fashion_trainer.py",
        "fashion_trainer_solution.py",
        "fashion_trainer.py",
    ),
    Step(
        103,
        "One program for either strategy",
        "fashion_either.py",
        "fashion_either_solution.py",
        "fashion_either.py",
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
    numbers = [step.number for step in STEPS if not step.is_capstone]
    raise KeyError(f"There is no step {number}; there are {numbers[0]} to {numbers[-1]}.")


def number(text: str) -> int:
    """Return the number that a text stands for: a number, or the name of a step, such as capstone_1.

    Raises:
        ValueError: it is neither.
    """
    named = {step.name: step.number for step in STEPS}
    if text in named:
        return named[text]
    if not text.isdecimal():
        raise ValueError(f"'{text}' is not a step; write it as 3 or capstone_1")
    return int(text)


def parse(numbers: str) -> list[Step]:
    """Return the steps that a list such as "1,2,5", "8-12", "1,3-5", "7,capstone_1" or "all" names, by their numbers.

    Raises:
        ValueError: the text is not such a list.
        KeyError: it names a step that does not exist.
    """
    if numbers == "all":
        return list(STEPS)
    chosen: set[int] = set()
    for part in numbers.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            start = number(first)
            end = number(last) if dash else start
        except ValueError:
            start, end = 1, 0
        if end < start:
            raise ValueError(f"'{numbers}' names no steps; write them as 1,2,5 or 8-12 or capstone_1 or all")
        chosen.update(range(start, end + 1))
    return [get(each) for each in sorted(chosen)]
