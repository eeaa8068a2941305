"""What a run leaves behind: one definition for the process that writes it and the one that validates it.

The recorders in grader.sandboxed fill in HorovodFacts or TaskFacts. They run in the process of the script, so all that
they send is untrusted: grader.runner.answers validates it. What watchers see, from outside of a script, is in
grader.terms.watched_facts.
"""

from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct

Projection = Annotated[list[float], Meta(max_length=16)]  # of tensors: see grader.sandboxed.recorder
Integers = Annotated[list[int], Meta(max_length=16)]
Text = Annotated[str, Meta(max_length=1000)]
EndedFor = Literal["time", "output", "memory", "others", "stall"]


class Error(Struct, forbid_unknown_fields=True):
    """An exception that ended a script."""

    kind: Text  # its class, or ARGUMENTS
    message: Annotated[str, Meta(max_length=2000)]
    line: int | None  # of the script
    traceback: Annotated[str, Meta(max_length=8000)]  # without frames of ours


ARGUMENTS = "arguments"  # the kind of error of a script whose argparse refuses its arguments


# --- What a rank of Horovod reports -----------------------------------------------------------------------------------


class State(Struct, forbid_unknown_fields=True):
    """What a checkpoint has to restore."""

    weights: Projection  # that are trained
    slots: Projection  # the optimizer's
    iterations: int
    variables: list[str]  # names of the optimizer's
    statistics: Projection = []  # the other weights, which training sets in other ways


class Batch(Struct, forbid_unknown_fields=True):
    """One training step. Weights and gradients are projections; None where they were never seen."""

    rate: float
    before: Projection | None
    local: Projection | None  # the gradients that this rank computed by itself
    updated: Projection  # weights as the optimizer left them
    after: Projection | None = None  # weights as the script's callbacks left them
    slots: Projection | None = None


class Epoch(Struct, forbid_unknown_fields=True):
    """One epoch."""

    steps: int = 0
    validation_steps: int = 0
    own: dict[str, float] = {}  # this rank's metrics, before any callback saw them
    images: Annotated[list[Text], Meta(max_length=5000)] = []  # trained on, by their mean colours
    validation_images: Annotated[list[Text], Meta(max_length=5000)] = []
    saved: Annotated[list[str], Meta(max_length=100)] | None = None  # new checkpoints at its end


class Fit(Struct, forbid_unknown_fields=True):
    """One call of model.fit."""

    verbose: int | bool | str
    optimizer: dict[str, float | int | bool | str]  # its kind and settings
    callbacks: list[str]  # the classes of the script's own
    loss_weights: list[float]
    steps_per_epoch: int | None
    log_dirs: list[str]  # of TensorBoard callbacks
    weights_built: Projection | None  # as the model was built; None where it has none before it trains
    initial_epoch: int
    begin: State
    batches: Annotated[list[Batch], Meta(max_length=5000)] = []
    epochs: Annotated[list[Epoch], Meta(max_length=1000)] = []
    # Epoch, callback, metric, value.
    reads: Annotated[list[tuple[int, Text, Text, float]], Meta(max_length=20_000)] = []
    end: State | None = None
    schedule: dict[str, float] = {}  # epoch -> the rate that the script's own callbacks set for it
    seeds: Annotated[
        list[Text], Meta(max_length=100)
    ] = []  # that NumPy's own generator was given in training, and kept
    generator: Text = ""  # the state of NumPy's own generator before the training, as a digest
    wrote: Annotated[list[str], Meta(max_length=100)] = []  # checkpoints that this rank opened for writing
    renamed: Annotated[list[str], Meta(max_length=100)] = []  # and those that got their name by a rename

    @property
    def steps(self) -> int:
        """Return the number of training steps."""
        return len(self.batches)


class Files(Struct, forbid_unknown_fields=True):
    """What a rank opened."""

    copied: int  # files of the store that were read before training
    cached: int | None  # images in the host's copy when the rank first listed its images; None: it never did
    read_in_training: int
    results_written: int
    removed: int  # files and folders of the store that it deleted, moved or wrote to, or tried to
    store_errors: Annotated[list[str], Meta(max_length=3)]  # what store.download raised


class HorovodFacts(Struct, forbid_unknown_fields=True):
    """What a rank of Horovod did."""

    # "init", "model", "fit", "trained" (fit has ended): each as it first happened
    order: Annotated[list[Text], Meta(max_length=20)] = []
    lines: dict[str, int] = {}  # what -> the line of the script that did it
    gpus: Integers = []  # visible when the script builds its model
    memory_growth: Integers = []  # GPUs
    fits: Annotated[list[Fit], Meta(max_length=50)] = []
    files: Files | None = None
    error: Error | None = None


# --- What a task of a TF_CONFIG cluster reports -----------------------------------------------------------------------


class Progress(Struct, forbid_unknown_fields=True):
    """What has to be equal on all workers."""

    weights: Projection
    iterations: int


class Writer(Struct, forbid_unknown_fields=True):
    """A callback, and where it writes."""

    kind: str
    path: str | None


class Save(Struct, forbid_unknown_fields=True):
    """A model saved, or backed up."""

    path: str
    iterations: int


class Input(Struct, forbid_unknown_fields=True):
    """What the function of a DatasetCreator makes for two workers: one with one replica, and one with two."""

    batches: Annotated[list[int], Meta(max_length=2)]  # images in the first batch of each, where it gets one
    images: Annotated[list[int], Meta(max_length=500)]  # that the first one gets, in several passes: their numbers
    others: Annotated[list[int], Meta(max_length=500)]  # that the second one gets


class TaskFit(Struct, forbid_unknown_fields=True):
    """One call of model.fit under a strategy."""

    strategy: str  # its class
    callbacks: list[Writer]
    steps_per_epoch: int | None
    in_parts: Annotated[list[Integers], Meta(max_length=1000)]  # variables kept in parts: their number, first shape
    places: list[str]  # kinds of tasks that hold the model's variables
    images: list[Annotated[list[int], Meta(max_length=64)]] = []  # of each training batch
    validation_images: list[Annotated[list[int], Meta(max_length=64)]] = []
    epochs: list[int] = []  # the training steps of each
    divided: bool = True  # whether the strategy takes this worker's part of each batch, or the data are it already
    sharded: bool = False  # whether the script has shared out the data itself, with shard()
    accuracies: list[float] = []  # on the images held out, after each epoch that measured it
    entered: Progress | None = None  # what fit was called with, before any callback restored a backup
    restored: bool = False  # whether a callback did
    begin: Progress | None = None
    end: Progress | None = None
    data: str = ""  # the class of what it trains on
    seed: int | None = None  # TensorFlow's global one, if set
    input: Input | None = None

    @property
    def steps(self) -> int:
        """Return the number of training steps."""
        return sum(self.epochs)


class Checkpoint(Struct, forbid_unknown_fields=True):
    """A checkpoint that a training left."""

    number: int
    weights: Projection


class TaskFacts(Struct, forbid_unknown_fields=True):
    """What a task of a TF_CONFIG cluster did."""

    # "tf_config", "server", "strategy", "model", "fit", "evaluate", and "wait", for what never comes: each as it first
    # happened
    order: list[str] = []
    lines: dict[str, int] = {}  # what -> the line of the script that did it
    gpus: Integers = []  # visible when the script makes its strategy
    strategies: list[tuple[str, int]] = []  # the class of each, and its number of replicas
    communication: list[str] = []  # of each MultiWorkerMirroredStrategy: the implementation that it was made with
    built: str = ""  # the class of the strategy in whose scope the latest model was built
    parts: list[tuple[int, int]] = []  # KiB of a variable -> into how many parts the strategy's partitioner cuts it
    fits: Annotated[list[TaskFit], Meta(max_length=50)] = []
    saved: list[str] = []  # the paths that the script itself saved models to
    saves: list[Save] = []  # each model that a worker saved, callbacks' ones too
    backups: list[Save] = []  # each one that a worker made
    remains: list[str] = []  # the folders that this worker wrote to, but for backups, and that are there at its end
    evaluations: Annotated[list[Projection], Meta(max_length=1000)] = []  # the weights that were evaluated
    newest: Integers = []  # at the start of each evaluation: how many checkpoints there are
    evaluated: Annotated[list[Annotated[list[int], Meta(max_length=64)]], Meta(max_length=1000)] = []  # on these images
    checkpoints: Annotated[list[Checkpoint], Meta(max_length=20)] = []  # left at the end
    logs: list[str] = []  # the files for TensorBoard that this process wrote
    points: int = 0  # values of curves that these hold
    error: Error | None = None


class NoFacts(Struct, forbid_unknown_fields=True):
    """The facts of a file that is judged as it stands: nothing runs, so nothing is reported."""

    error: Error | None = None


# --- What the supervisor sees -----------------------------------------------------------------------------------------


class Disk(Struct):
    """What the disk of a host holds, as seen from outside when all ranks have ended."""

    files: dict[str, int] = {}  # the size of each, in bytes, by its path
    checkpoint: Save | None = None  # the newest in --log-dir/checkpoints of a TF_CONFIG cluster

    def below(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files below a folder, by their paths there."""
        inside = f"{folder}/"
        return {path.removeprefix(inside): size for path, size in self.files.items() if path.startswith(inside)}


Recorded = TypeVar("Recorded", HorovodFacts, TaskFacts)
