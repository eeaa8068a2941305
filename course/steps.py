"""The registry of steps: what each one is called, which program it starts from and which one it ends at.

A new step is one entry here, one solution file and one notebook.
"""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = ROOT / "solutions"


@dataclass(frozen=True)
class Check:
    """What a step asks for, in one line, what it is worth, and what to try where it is missing."""

    description: str
    hint: str
    points: int = 10


@dataclass(frozen=True)
class Step:
    """One step of the course."""

    number: int
    title: str
    starter_name: str  # in solutions/: what the learner begins the step with
    solution_name: str  # in solutions/: what is true after the step
    script: str  # the learner's file, as the step's notebook names it
    check: Check | None = None  # None: a step without an exercise

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


def _fashion_mnist(number: int, title: str, check: Check) -> Step:
    """Return a step of the first part, which starts where the step before it ended."""
    before = "fashion_mnist.py" if number == 1 else f"fashion_mnist_after_step_{number - 1:02d}.py"
    return Step(number, title, before, f"fashion_mnist_after_step_{number:02d}.py", "fashion_mnist.py", check)


def _imagenet(number: int, title: str, check: Check) -> Step:
    """Return a step of the second part, likewise."""
    before = "imagenet_resnet50.py" if number == 8 else f"imagenet_resnet50_after_step_{number - 1:02d}.py"
    return Step(number, title, before, f"imagenet_resnet50_after_step_{number:02d}.py", "imagenet_resnet50.py", check)


STEPS = (
    Step(0, "From one process to many", "fashion_mnist.py", "fashion_mnist.py", "fashion_mnist.py"),
    _fashion_mnist(
        1,
        "Initialise Horovod, one GPU a process",
        Check(
            "Horovod is initialised before the model is built, and each rank sees the one GPU of its local rank",
            "Call hvd.init() right after the imports. Where there are GPUs, make only gpus[hvd.local_rank()] visible, "
            "and let its memory grow, before the model is built.",
        ),
    ),
    _fashion_mnist(
        2,
        "Let one rank speak",
        Check(
            "Rank 0 reports progress, and no other rank prints anything",
            "verbose decides what is printed: 1 where hvd.rank() is 0, and 0 elsewhere.",
        ),
    ),
    _fashion_mnist(
        3,
        "Average the gradients",
        Check(
            "Every rank applies the mean of all ranks' gradients",
            "Wrap the optimizer in hvd.DistributedOptimizer, and give the wrapped one to model.compile.",
        ),
    ),
    _fashion_mnist(
        4,
        "Start from the same weights",
        Check(
            "From the end of the first batch on, all ranks hold the weights of rank 0",
            "hvd.callbacks.BroadcastGlobalVariablesCallback(0) belongs into the list that model.fit gets.",
        ),
    ),
    _fashion_mnist(
        5,
        "Share the epoch",
        Check(
            "The ranks together make one pass over the training set in an epoch, and three over the test set",
            "Divide the number of batches by hvd.size(), in whole numbers: len(train_iter) // hvd.size(), and "
            "3 * len(test_iter) // hvd.size().",
        ),
    ),
    _fashion_mnist(
        6,
        "Average the metrics",
        Check(
            "Callbacks read the mean of all ranks' metrics, and all ranks stop alike",
            "hvd.callbacks.MetricAverageCallback() comes before every callback that reads a metric, on every rank.",
        ),
    ),
    Step(
        7,
        "Check your work, measure the speed-up",
        "fashion_mnist_solution.py",
        "fashion_mnist_solution.py",
        "../step_06/fashion_mnist.py",
    ),
    _imagenet(
        8,
        "Bring the data to every host",
        Check(
            "One rank a host copies the data there, the others wait or end with it, and rank 0 copies results back",
            "Where hvd.local_rank() is 0, store.download(args.data_url, args.cache_dir) brings the data. An "
            "hvd.allreduce that all ranks call holds everybody until they are there, and can carry the news that "
            "a copy failed. Last, on rank 0: store.upload.",
        ),
    ),
    _imagenet(
        9,
        "A share for every rank",
        Check(
            "In every epoch the ranks share all images out among them, each in an order that is new",
            "Shuffle with a seed that is the same on all ranks and another one in each epoch, then take every "
            "hvd.size()-th image, from number hvd.rank() on.",
        ),
    ),
    _imagenet(
        10,
        "Checkpoint and resume",
        Check(
            "Started again, all ranks go on from rank 0's last whole checkpoint, weights and optimizer alike",
            "Let rank 0 look for the checkpoint, tell its epoch by broadcast_object, and load the file on every rank. "
            "Rank 0 alone saves: under another name first, which it then renames.",
        ),
    ),
    _imagenet(
        11,
        "The learning rate of many ranks",
        Check(
            "The learning rate grows from that of one process to hvd.size() times as much, then follows the schedule",
            "Multiply args.base_lr by hvd.size() wherever it is used, and give "
            "hvd.callbacks.LearningRateWarmupCallback that rate and args.warmup_epochs.",
        ),
    ),
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
        Check(
            "The workers train one model, each on its own part of every batch",
            "Make tf.distribute.MultiWorkerMirroredStrategy before anything else, the model under strategy.scope(), "
            "and the batches strategy.num_replicas_in_sync times as large.",
        ),
    ),
    Step(
        14,
        "A worker dies",
        "mnist_multi_worker_after_step_13.py",
        "mnist_multi_worker_after_step_14.py",
        "mnist_multi_worker.py",
        Check(
            "Started again after a worker was killed, all go on from where they were, and the chief alone keeps files",
            "Give BackupAndRestore one folder for all workers, and the other callbacks one that is thrown away where "
            "the worker is not the chief.",
        ),
    ),
    Step(
        15,
        "Parameter servers",
        "parameter_server/one_gpu.py",
        "parameter_server/coordinator.py",
        "coordinator.py",
        Check(
            "The coordinator trains on the workers, with its variables on the parameter servers",
            "Make tf.distribute.ParameterServerStrategy from the resolver, with a MinSizePartitioner, the model under "
            "its scope, and give model.fit a DatasetCreator.",
        ),
    ),
    Step(
        16,
        "An evaluator beside the training",
        "parameter_server/evaluate_once.py",
        "parameter_server/evaluator.py",
        "evaluator.py",
        Check(
            "The evaluator scores each checkpoint as it appears, until the last one",
            "tf.keras.utils.SidecarEvaluator takes the compiled model, the data and the folder of the checkpoints; its "
            "start() returns after max_evaluations.",
        ),
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


def up_to(number: int) -> list[Step]:
    """Return the steps of the same part that have an exercise, up to this one."""
    script = get(number).script
    return [step for step in STEPS if step.check and step.script == script and step.number <= number]


def parse(numbers: str) -> list[Step]:
    """Return the steps that a list such as "1,2,5", "8-12", "1,3-5" or "all" names, in the order of the course.

    Raises:
        ValueError: the text is not such a list.
        KeyError: it names a step that does not exist.
    """
    if numbers == "all":
        return list(STEPS)
    chosen = set()
    for part in numbers.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise ValueError(f"'{numbers}' names no steps; write them as 1,2,5 or 8-12 or all")
        chosen.update(range(int(first), int(last or first) + 1))
    return [get(number) for number in sorted(chosen)]
