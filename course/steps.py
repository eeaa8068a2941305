"""The registry of steps: what each one is called, which program it starts from and which one it ends at.

A new step has one entry here; CONTRIBUTING.md says what else.
"""

import contextlib
import itertools
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = ROOT / "solutions"
CAPSTONE = 100  # is added to the number of a capstone: a part's last assignment, a whole program without guidance
INTERLUDE = 200  # is added to the number of an interlude: a lesson after the one of that number, without its program
DRILL = 300  # is added to the number of a drill: an assignment in which each learner has a fault of their own


@dataclass(frozen=True)
class Step:
    """One step of the course, an interlude such as step 6b, the capstone of a part, or a drill."""

    # Of a capstone, CAPSTONE and the number of its part; of an interlude, INTERLUDE and that of the step before.
    number: int
    title: str
    starter_name: str  # in solutions/: what the learner begins the step with
    solution_name: str  # in solutions/: what is true after the step
    script: str  # the learner's file, as the step's notebook names it
    problem: str = ""  # that the step solves, for the map: without the solution
    minutes: int = 0  # of work, by estimate: reading, exercise and check

    @property
    def is_capstone(self) -> bool:
        """Whether this is the capstone of a part."""
        return CAPSTONE < self.number < INTERLUDE

    @property
    def has_name(self) -> bool:
        """Whether this is a capstone or a drill, which are called by a word."""
        return self.is_capstone or self.number > DRILL

    @property
    def short(self) -> str:
        """What the step is called on a command line and in check(): 3, 6b, capstone_1 or drill_1."""
        if self.is_capstone:
            return f"capstone_{self.number - CAPSTONE}"
        if self.number > DRILL:
            return f"drill_{self.number - DRILL}"
        return f"{self.number - INTERLUDE}b" if self.number > INTERLUDE else str(self.number)

    @property
    def name(self) -> str:
        """The name of the step's folder and notebook: step_03, step_06b, capstone_1 or drill_1."""
        if self.has_name:
            return self.short
        return f"step_{self.number - INTERLUDE:02d}b" if self.number > INTERLUDE else f"step_{self.number:02d}"

    @property
    def label(self) -> str:
        """What the step is called in a sentence: step 3, step 6b, capstone 1 or drill 1."""
        return self.short.replace("_", " ") if self.has_name else f"step {self.short}"

    @property
    def short_label(self) -> str:
        """The label without the word step, as a person types it: 3, or capstone 1."""
        return self.label.removeprefix("step ")

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
    def answer(self) -> Path:
        """The model answer to the lesson's written question, as Markdown."""
        return SOLUTIONS / "answers" / f"{self.name}.md"

    @property
    def has_exercise(self) -> bool:
        """Whether the learner has something to edit."""
        return self.starter_name != self.solution_name


@dataclass(frozen=True)
class Part:
    """A part of the course: the steps from its first one up to the next part."""

    title: str
    first: int  # the number of its first step


def _fashion_mnist(number: int, title: str, problem: str, minutes: int) -> Step:
    """Return a step of the first part, which starts where the step before it ended."""
    before = "fashion_mnist.py" if number == 1 else f"fashion_mnist_after_step_{number - 1:02d}.py"
    solution = f"fashion_mnist_after_step_{number:02d}.py"
    return Step(number, title, before, solution, "fashion_mnist.py", problem, minutes)


def _imagenet(number: int, title: str, problem: str, minutes: int) -> Step:
    """Return a step of the second part, likewise."""
    before = "imagenet_resnet50.py" if number == 8 else f"imagenet_resnet50_after_step_{number - 1:02d}.py"
    solution = f"imagenet_resnet50_after_step_{number:02d}.py"
    return Step(number, title, before, solution, "imagenet_resnet50.py", problem, minutes)


STEPS = (
    Step(
        0,
        "From one process to many",
        "fashion_mnist.py",
        "fashion_mnist.py",
        "fashion_mnist.py",
        "One process takes long. What do several processes of the same program do?",
        35,
    ),
    _fashion_mnist(
        1,
        "Initialise Horovod, one GPU per process",
        "The processes do not know of each other, and all of them take the same GPU",
        30,
    ),
    _fashion_mnist(2, "Let one rank speak", "Every rank prints the same lines", 25),
    _fashion_mnist(3, "Average the gradients", "Each rank trains a separate model", 35),
    _fashion_mnist(
        4,
        "Start from the same weights",
        "The ranks begin with different weights, so their updates do not fit together",
        30,
    ),
    _fashion_mnist(5, "Share the epoch", "Every rank does the work of a whole epoch, so more ranks save no time", 35),
    _fashion_mnist(
        6, "Average the metrics", "Each rank knows only its own metrics, and decides by itself when to stop", 35
    ),
    Step(
        206,
        "Find a hang",
        "hang/diagnosis_starter.toml",
        "hang/diagnosis.toml",
        "diagnosis.toml",
        "A job neither fails nor continues, and no rank says why",
        60,
    ),
    Step(
        7,
        "Check your work, measure the speed-up",
        "fashion_mnist_solution.py",
        "fashion_mnist_solution.py",
        "../step_06/fashion_mnist.py",
        "Is the program right, and how much faster is it?",
        30,
    ),
    _imagenet(
        8, "Bring the data to every host", "The images are in an object store, and the hosts' disks are empty", 80
    ),
    _imagenet(9, "A share for every rank", "Some images are used twice in an epoch, and others never", 80),
    _imagenet(10, "Checkpoint and resume", "One rank is killed, and the work of all ranks is lost", 85),
    _imagenet(
        11, "The learning rate of many ranks", "With more ranks, the model learns less in the same number of epochs", 75
    ),
    Step(
        12,
        "One process, many devices",
        "imagenet_resnet50_mirrored.py",
        "imagenet_resnet50_mirrored.py",
        "../../solutions/imagenet_resnet50_mirrored.py",
        "One host has several GPUs. Does each of them need its own process?",
        40,
    ),
    Step(
        13,
        "Several workers",
        "mnist_one_gpu.py",
        "mnist_multi_worker_after_step_13.py",
        "mnist_multi_worker.py",
        "Started as several workers, the program trains several separate models",
        90,
    ),
    Step(
        14,
        "A worker dies",
        "mnist_multi_worker_after_step_13.py",
        "mnist_multi_worker_after_step_14.py",
        "mnist_multi_worker.py",
        "A worker dies, and the others cannot continue",
        70,
    ),
    Step(
        15,
        "Parameter servers",
        "parameter_server/one_gpu.py",
        "parameter_server/coordinator.py",
        "coordinator.py",
        "The slowest worker sets the pace of all others",
        80,
    ),
    Step(
        16,
        "An evaluator next to the training",
        "parameter_server/evaluate_once.py",
        "parameter_server/evaluator.py",
        "evaluator.py",
        "While the workers evaluate, they do not train",
        50,
    ),
    Step(
        17,
        "Which engine to choose",
        "mnist_one_gpu.py",
        "mnist_one_gpu.py",
        "../../solutions/mnist_one_gpu.py",
        "There are four ways to run one training. Which of them suits which case?",
        40,
    ),
    Step(
        18,
        "Several hosts",
        "hosts/launch_starter.sh",
        "hosts/launch.sh",
        "launch.sh",
        "On several hosts, a training is slow or stands still, and no message says why",
        150,
    ),
    Step(
        19,
        "Under a scheduler",
        "hosts/job_starter.sbatch",
        "hosts/job.sbatch",
        "job.sbatch",
        "A node fails, or the time is up, and the scheduler ends your job",
        140,
    ),
    Step(
        20,
        "Hosts that come and go",
        "hosts/fashion_mnist_elastic_starter.py",
        "hosts/fashion_mnist_elastic.py",
        "fashion_mnist_elastic.py",
        "Hosts disappear while the training runs, and others join",
        130,
    ),
    Step(
        21,
        "Allreduce from scratch",
        "allreduce/allreduce_starter.py",
        "allreduce/allreduce.py",
        "allreduce.py",
        "With each further host, the exchange of the gradients takes longer",
        90,
    ),
    Step(
        22,
        "What a step costs",
        "scaling/predict_starter.py",
        "scaling/predict.py",
        "predict.py",
        "Before the hosts are there, it is not known how fast a training will be on them",
        90,
    ),
    Step(
        23,
        "Held to account",
        "scaling/estimates_starter.toml",
        "scaling/estimates.toml",
        "estimates.toml",
        "A model that agrees with your own eight hosts may still be wrong about 512 GPUs",
        70,
    ),
    Step(
        24,
        "Make it faster",
        "fashion_mnist_after_step_06.py",
        "scaling/fashion_mnist_faster.py",
        "fashion_mnist.py",
        "On a slow network, a training waits for its gradients during most of each step",
        120,
    ),
    Step(
        301,
        "A fault of your own",
        "drill/drill_starter.toml",
        "drill/drill.toml",
        "drill.toml",
        "A program no longer does what it did, and each learner has another fault to find",
        60,
    ),
    Step(
        101,
        "A program of your own to distribute",
        "fashion_mlp.py",
        "fashion_mlp_solution.py",
        "fashion_mlp.py",
        "A program that you have not seen runs in one process only",
        90,
    ),
    Step(
        102,
        "A training that survives a kill",
        "fashion_trainer.py",
        "fashion_trainer_solution.py",
        "fashion_trainer.py",
        "A trainer that you have not seen loses its work when it is killed",
        120,
    ),
    Step(
        103,
        "One program for either strategy",
        "fashion_either.py",
        "fashion_either_solution.py",
        "fashion_either.py",
        "A program has to run with parameter servers and without them",
        150,
    ),
)

PARTS = (
    Part("Horovod", 0),
    Part("production", 8),
    Part("TensorFlow's strategies", 13),
    Part("a cluster of your own", 18),
    Part("scaling", 21),
    Part("the bug hunt", 301),
)
LAST_LESSONS = {7: 101, 12: 102, 17: 103}  # of the parts that have a capstone, and its number


def in_order() -> list[Step]:
    """Return all steps in the order in which a learner takes them: a capstone follows the last lesson of its part."""
    lessons = [step.number for step in STEPS if not step.is_capstone]
    return [get(each) for number in lessons for each in (number, LAST_LESSONS.get(number)) if each is not None]


def by_part() -> list[tuple[Part, list[Step]]]:
    """Return each part with its steps, in order."""
    begins = {part.first: part for part in PARTS}
    parts: list[tuple[Part, list[Step]]] = []
    for step in in_order():
        if step.number in begins:
            parts.append((begins[step.number], []))
        parts[-1][1].append(step)
    return parts


def after(step: Step) -> Step | None:
    """Return the step that follows; None after the last one."""
    order = in_order()
    return dict(itertools.pairwise(order)).get(step)


def get(typed: int | str) -> Step:
    """Return the step that a person names: 6, "6b", "step 6", "step_06", "capstone 1" or "capstone_1".

    Raises:
        KeyError: there is no such step.
    """
    words = " ".join(str(typed).lower().replace("_", " ").split())
    words = str(int(words)) if words.isdecimal() else words
    for step in STEPS:
        if words in (str(step.number), step.label, step.short_label, step.name.replace("_", " ")):
            return step
    lessons = [step.short_label for step in STEPS if not step.has_name]
    capstones = [step.number - CAPSTONE for step in STEPS if step.is_capstone]
    named = words if words[:1].isalpha() else f"step {words}"
    there = f"steps {lessons[0]} to {lessons[-1]} and capstones {capstones[0]} to {capstones[-1]}"
    raise KeyError(f"There is no {named}. There are {there}.")


def number(text: str) -> int:
    """Return the number of the step that a text names, as get() reads it; any other number is returned as it is.

    Raises:
        ValueError: the text is neither.
    """
    with contextlib.suppress(KeyError):
        return get(text).number
    if not text.isdecimal():
        raise ValueError(f"'{text}' is not a step; write it as 3, 6b or capstone_1")
    return int(text)


def label(number: int) -> str:
    """Return the label of a step by its number, also where there is no such step."""
    return next((step.label for step in STEPS if step.number == number), f"step {number}")


def parse(numbers: str) -> list[Step]:
    """Return the steps that a list such as "1,2,5", "8-12", "5-6b", "7,capstone_1" or "all" names, in their order.

    A range has the interludes between its ends, too.

    Raises:
        ValueError: the text is not such a list.
        KeyError: it names a step that does not exist.
    """
    if numbers == "all":
        return list(STEPS)
    chosen: set[Step] = set()
    for part in numbers.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            start = STEPS.index(get(number(first)))
            end = STEPS.index(get(number(last))) if dash else start
        except ValueError:
            start, end = 1, 0
        if end < start:
            raise ValueError(f"'{numbers}' names no steps; write them as 1,2,5 or 8-12 or 6b or capstone_1 or all")
        chosen.update(STEPS[start : end + 1])
    return sorted(chosen, key=STEPS.index)
