"""The part of coordinator.py, step 15: a coordinator with parameter servers and workers, which are the solution's.

The coordinator is killed in its second epoch and started again. Then the script is started as tasks that are not its
own, and stopped where it starts to work.
"""

import signal

from grader.checks import tasks
from grader.checks.part import Part
from grader.checks.training import hardly_communicated
from grader.reading.parsing import Source
from grader.terms.clusters import (
    BATCH,
    CLASSES,
    IMAGES,
    LOGS,
    TRAIN_IMAGES,
    Fresh,
    Killed,
    Resumed,
    TaskSpec,
    changed,
    flags,
)
from grader.terms.facts import TaskFacts, TaskFit
from grader.terms.findings import Finding, Untold, counted, listed
from grader.terms.runs import TaskRank, TaskRuns

part = Part("coordinator.py", TaskFacts)

STRATEGY = "ParameterServerStrategyV2"  # what ParameterServerStrategy is called inside TensorFlow
CREATOR = "DatasetCreator"
SERVER = "parameter_server/worker_and_ps.py"
# Started again, a training has three epochs left: more steps than both workers have data for, if these do not repeat.
# So a script that does not repeat them fails each time, however many steps each worker takes.
EPOCHS = 4
KILLED_IN = 2  # epoch
BATCHES = TRAIN_IMAGES // BATCH  # per epoch
SERVERS, WORKERS = 3, 2  # not equally many, since a variable has one part per server, and not per worker


def mobilenet(epochs: int) -> tuple[str, ...]:
    """Return the arguments of the programs for parameter servers: the narrowest network."""
    return flags(
        data_dir=IMAGES, log_dir=LOGS, image_size=32, classes=CLASSES, alpha=0.35, batch_size=BATCH, epochs=epochs
    )


_served = Fresh(
    "killed",
    f"{SERVERS} parameter servers and {WORKERS} workers",
    hosts=1,
    slots=1 + SERVERS + WORKERS,
    gpus=2,
    arguments=mobilenet(EPOCHS),
    tasks=(TaskSpec("chief"), *[TaskSpec("ps", SERVER)] * SERVERS, *[TaskSpec("worker", SERVER)] * WORKERS),
)
# The coordinator is.
KILLED = changed(_served, Killed, reserved=True, task=0, batches=(KILLED_IN - 1) * BATCHES + 2)
RESTARTED = changed(_served, Resumed, name="restarted", after="killed")
ROLES = tasks.roles("worker", "ps", "evaluator", arguments=mobilenet(EPOCHS))


@part.check(
    15,
    points=1,
    clusters=(KILLED, RESTARTED, ROLES),
    asks=("Check `TF_CONFIG` with `tf_config.check()`",),
    hint="course.tf_config has a function check(). TensorFlow reads TF_CONFIG when the strategy is made.",
)
def tf_config(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """TF_CONFIG is checked before the strategy is made."""
    return tasks.checked(_chief(runs))


@part.check(
    15,
    points=1,
    asks=("end if this process is not the chief",),
    hint="A resolver knows the task_type of the process. Compare it with the one type that this program is for.",
)
def role(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """A process that is not the chief ends before it makes a strategy."""
    return tasks.kept_to(_chief(runs), runs, source)


@part.check(
    15,
    points=1,
    asks=("Hide all GPUs from this process",),
    hint="tf.config.set_visible_devices sets which GPUs are visible. It has to come before the strategy.",
)
def gpus(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The coordinator sees no GPU."""
    return tasks.sees_no_gpu(_chief(runs), source, "which the workers need")


@part.check(
    15,
    points=1,
    asks=("Make the `ParameterServerStrategy`, with a `MinSizePartitioner`", "at most one part per server."),
    look_at=("variable_partitioner", "MinSizePartitioner", "ParameterServerStrategy"),
    hint="MinSizePartitioner has arguments for both numbers; the resolver's cluster_spec() counts the servers.",
)
def strategy(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The strategy is ParameterServerStrategy, and cuts large variables into parts of at least 256 KiB."""
    rank, right = _chief(runs), _chief(expected)
    if joined := tasks.own_server(rank):
        return joined
    if not tasks.works(rank):
        return tasks.untold(rank, "makes no strategy")
    if STRATEGY not in [kind for kind, _ in rank.facts.strategies]:
        if rank.error and not rank.facts.fits:
            return tasks.untold(rank, "fails before the strategy is made")
        return Finding(
            seen=f"{rank.where} makes no ParameterServerStrategy",
            expected="one, made from the resolver",
            line=rank.facts.lines.get("strategy") or rank.facts.lines.get("fit"),
            explains=True,
        )
    if len(rank.facts.parts) < len(right.facts.parts):
        seen = f"{rank.where}: the strategy's partitioner fails"
        return (Untold if rank.error else Finding)(seen=seen, expected="it cuts a variable of any size")
    for (size, cut), (_, pieces) in zip(rank.facts.parts, right.facts.parts, strict=True):
        if cut != pieces:
            return Finding(
                seen=f"{rank.where}: the partitioner cuts a variable of {size} KiB into {counted(cut, 'part')}",
                expected=f"{counted(pieces, 'part')}, as there is at most one per server ({SERVERS} here) and "
                "none is below 256 KiB",
            )
    return None


@part.check(
    15,
    points=1,
    asks=("Let the input function take the context, and ask it for the batch size",),
    look_at=("get_per_replica_batch_size", "batch"),
    hint="The context has a method that takes the batch size of a step, and returns that of one replica.",
)
def batch_size(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The input function asks its context for the batch size."""
    rank, fit, right = _chief(runs), _fit(runs), _fit(expected)
    if not fit or not fit.input or not right or not right.input:
        return _without_function(rank)
    for replicas, (size, should) in enumerate(zip(fit.input.batches, right.input.batches, strict=False), start=1):
        if size != should:
            return Finding(
                seen=f"{rank.where}: with --batch-size {BATCH}, and a context of {counted(replicas, 'replica')}, "
                f"the input function makes batches of {counted(size, 'image')}",
                expected=f"{should}, as context.get_per_replica_batch_size() returns",
            )
    return None if len(fit.input.batches) == len(right.input.batches) else _without_function(rank)


@part.check(
    15,
    points=1,
    asks=("each worker reads all images, in an order of its own", "The rest stays as it is"),
    look_at=("images",),
    hint="Nothing deals images out here. What the input function returns has to shuffle and to repeat all of them, and "
    "a seed makes the order on all workers the same.",
)
def images(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Each worker gets all images, over and over, in an order of its own."""
    rank, fit, right = _chief(runs), _fit(runs), _fit(expected)
    if not fit or not fit.input or not fit.input.images or not right or not right.input:
        return _without_function(rank)
    got, count, all_ = fit.input.images, len(set(fit.input.images)), len(set(right.input.images))
    if count < all_:
        seen = f"{rank.where}: the input function makes {count} of the {all_} images"
        return Finding(seen=seen, expected="all of them", line=source.line_of("shard", "take", "skip"))
    if len(got) < 2 * count:
        return Finding(
            seen=f"{rank.where}: the input function makes {len(got)} images and then ends",
            expected="it repeats them",
            line=source.line_of("repeat"),
            explains=bool(rank.error),
        )
    if got[:count] == got[count : 2 * count]:
        seen = f"{rank.where}: each pass over the images has the same order"
        return Finding(seen=seen, expected="another order in each pass", line=source.line_of("shuffle"))
    if fit.seed is not None or got[:count] == fit.input.others[:count]:
        seed = "the images are shuffled with a seed" if fit.seed is None else f"the global seed is {fit.seed}"
        return Finding(
            seen=f"{rank.where}: {seed}, so all workers get the same images in the same order",
            expected="no seed, and an order of its own for each",
            line=source.line_of("set_seed", "set_random_seed", "seed"),
        )
    return None


@part.check(
    15,
    points=1,
    asks=("Make the model in the strategy's scope.",),
    look_at=("scope",),
    needs=(strategy,),
    hint="What is made under strategy.scope() has its variables on the servers: the model and its optimizer.",
)
def scope(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The model's variables are on the parameter servers."""
    rank, fit, right = _chief(runs), _fit(runs), _fit(expected)
    if not fit or not right:
        return tasks.untold(rank, "never calls model.fit")
    if fit.strategy != STRATEGY:
        return Finding(
            seen=f"{rank.where} trains a model that is not on the parameter servers",
            expected="one that is made and compiled under strategy.scope()",
            line=rank.facts.lines.get("model"),
            explains=True,
        )
    if fit.places != right.places or fit.in_parts != right.in_parts:
        places = listed(fit.places) or "no task of the cluster"
        return Finding(
            seen=f"{rank.where}: the model's variables are on {places}, {len(fit.in_parts)} of them in parts",
            expected=f"on {listed(right.places)}, {len(right.in_parts)} in parts",
            line=rank.facts.lines.get("model"),
        )
    if rank.error or rank.ended_for:
        return None
    return hardly_communicated(runs, expected)


@part.check(
    15,
    points=1,
    asks=("Add `BackupAndRestore`, in `backup` in the log folder.",),
    look_at=("BackupAndRestore", "BackupAndRestoreExperimental", "callbacks"),
    hint="A callback of Keras backs up the training at the end of each epoch, and restores it in fit. It takes a "
    "folder.",
)
def backup(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """A coordinator that was killed resumes from a backup."""
    rank, fit, right = _chief(runs), _fit(runs), _fit(expected)
    killed = [before.exit == -signal.SIGKILL for before in runs.reserved.get(KILLED.name, [])]
    if not fit or not fit.begin or not all(killed):
        return tasks.untold(rank, "cannot be interrupted: it does not get that far")
    if not right or not right.begin:
        return None
    if not _as_many_steps(fit, right):
        return tasks.untold(rank, f"has another number of steps in an epoch, so it is not killed in epoch {KILLED_IN}")
    again = f"The coordinator was killed in epoch {KILLED_IN} and started again"
    found = sorted({name.partition("/")[0] for name in rank.found.below(LOGS)})
    folders = f"When it was started again, --log-dir had: {listed(found) or 'nothing'}."
    if fit.begin.iterations < right.begin.iterations:
        return Finding(
            seen=f"{again}: training begins at step {fit.begin.iterations}",
            expected=f"step {right.begin.iterations}, from a backup made after epoch 1",
            hint=folders,
        )
    if not rank.error and len(fit.epochs) != len(right.epochs):
        seen = f"{again}: it trains {counted(len(fit.epochs), 'epoch')}"
        return Finding(seen=seen, expected=f"{len(right.epochs)} more")
    if "backup" not in found:
        seen = f"{again}: it resumes, but not from the folder backup in --log-dir"
        return Finding(seen=seen, expected="a backup there", hint=folders)
    return None


@part.check(
    15,
    points=1,
    asks=("Give `fit` the function, as a `DatasetCreator`.",),
    hint="A DatasetCreator holds the function itself; calling the function makes the data in the coordinator.",
)
def creator(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The input function goes to fit as a DatasetCreator."""
    rank, fit = _chief(runs), _fit(runs)
    if not fit:
        return tasks.untold(rank, "never calls model.fit")
    if fit.data != CREATOR:
        seen = f"{rank.where}: fit() is given an object of the class {fit.data}"
        return Finding(seen=seen, expected="a DatasetCreator", line=rank.facts.lines.get("fit"), explains=True)
    return None


@part.check(
    15,
    points=1,
    asks=("the number of steps per epoch, the checkpoints, and the model that is saved at the end",),
    look_at=("fit",),
    hint="Compare the program with the one that the step began with.",
)
def unchanged(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The training has as many steps per epoch as before, and saves checkpoints and the model."""
    rank, right, fit, solution = _chief(runs), _chief(expected), _fit(runs), _fit(expected)
    if not fit or not solution:
        return tasks.untold(rank, "never calls model.fit")
    if not _as_many_steps(fit, solution):
        steps = "no steps_per_epoch" if fit.steps_per_epoch is None else f"steps_per_epoch={fit.steps_per_epoch}"
        return Finding(
            seen=f"{rank.where}: fit() is given {steps}",
            expected=f"{solution.steps_per_epoch}, the number of batches",
            line=source.line_of("steps_per_epoch"),
            explains=fit.steps_per_epoch is None,
        )
    if rank.error or rank.ended_for or fit.strategy != STRATEGY:  # a training by itself is cut off
        return tasks.untold(rank, "does not run to its end on the cluster")
    left, wanted = rank.left.below(LOGS), sorted(right.left.below(f"{LOGS}/checkpoints"))
    paths = [f"checkpoints/{name}" for name in wanted if name.endswith(".index")]
    missing = [path.removesuffix(".index") for path in paths if path not in left]
    if missing and rank.found.below(LOGS):
        seen = f"After the training, {missing[0]} is not in --log-dir"
        line = source.line_of("ModelCheckpoint", "callbacks")
        return Finding(seen=seen, expected="a checkpoint after each epoch", line=line)
    if not rank.facts.saved:
        seen, line = f"{rank.where} does not save the trained model", source.line_of("save")
        return Finding(seen=seen, expected="model.save after fit", line=line)
    behind = max(save.iterations for save in rank.facts.saves if save.path in rank.facts.saved)
    if fit.steps_per_epoch and behind < fit.steps_per_epoch:
        seen = f"{rank.where} saves a model with {counted(behind, 'step')} behind it"
        return Finding(seen=seen, expected="the trained one", line=source.line_of("save"))
    return None


def _chief(runs: TaskRuns) -> TaskRank:
    """Return the coordinator that was started again."""
    return runs.clusters[RESTARTED.name][0]


def _fit(runs: TaskRuns) -> TaskFit | None:
    """Return its training, if it gets that far."""
    return next(iter(_chief(runs).facts.fits), None)


def _as_many_steps(fit: TaskFit, right: TaskFit) -> bool:
    """Return whether an epoch has as many steps as the solution's; one more may stand for a batch that is not full."""
    return fit.steps_per_epoch is not None and fit.steps_per_epoch - (right.steps_per_epoch or 0) in (0, 1)


def _without_function(rank: TaskRank) -> Finding:
    if rank.facts.fits and rank.facts.fits[0].input is not None:
        seen, line = f"{rank.where}: the input function makes no data", rank.facts.lines.get("fit")
        return (Untold if rank.error else Finding)(seen=seen, expected="it makes batches of images", line=line)
    return tasks.untold(rank, "gives fit() no function of a context")
