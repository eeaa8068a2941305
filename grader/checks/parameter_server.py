"""The part of coordinator.py, step 15: a coordinator with parameter servers and workers, which are the solution's."""

from msgspec.structs import replace

from grader.checks.part import Finding, Part
from grader.checks.training import hardly_communicated
from grader.facts import TaskFacts, TaskRank, TaskRuns
from grader.job import BATCH, IMAGES, LOGS, TaskSpec, Topology, flags
from grader.runner.reading import FILES, Source
from grader.runner.synthetic_data import CLASSES, TRAIN_IMAGES

part = Part("coordinator.py", "parameter_server/coordinator.py", TaskFacts, allowed=FILES)

STRATEGY = "ParameterServerStrategyV2"  # what ParameterServerStrategy is called inside TensorFlow
SERVER = "parameter_server/worker_and_ps.py"
EPOCHS = 2
BATCHES = TRAIN_IMAGES // BATCH  # per epoch


def mobilenet(epochs: int) -> tuple[str, ...]:
    """Return the arguments of the programs for parameter servers: the narrowest network."""
    return flags(
        data_dir=IMAGES, log_dir=LOGS, image_size=32, classes=CLASSES, alpha=0.35, batch_size=BATCH, epochs=epochs
    )


_served = Topology(
    "killed",
    "2 parameter servers and 2 workers",
    hosts=1,
    slots=5,
    gpus=2,
    arguments=mobilenet(EPOCHS),
    tasks=(TaskSpec("chief"), *(TaskSpec(type_, SERVER) for type_ in ("ps", "ps", "worker", "worker"))),
)
KILLED = replace(_served, reserved=True, dies=(0, BATCHES + 2))  # the coordinator, in the second epoch
RESTARTED = replace(_served, name="restarted", after="killed")


@part.check(
    15,
    clusters=(KILLED, RESTARTED),
    hint="Make tf.distribute.ParameterServerStrategy from the resolver, with a MinSizePartitioner, the model under "
    "its scope, and give model.fit a DatasetCreator.",
)
def coordinator(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The coordinator trains on the workers, with its variables on the parameter servers.

    Also after an interruption.
    """
    first = runs.reserved.get("killed", [])
    finding = next(filter(None, (_before_training(rank, source) for rank in first)), None)
    if finding:
        return finding
    for rank, right in zip(runs.topologies.get("restarted", []), expected.topologies["restarted"], strict=False):
        finding = _before_training(rank, source) or _training(rank, right, source)
        if finding:
            return finding
        if rank.error or not rank.facts.fits:
            return None  # it does not get that far, as another check says
    return hardly_communicated(runs, expected)


def _before_training(rank: TaskRank, source: Source) -> Finding | None:
    if rank.error and not rank.facts.fits:
        return None  # it does not get that far, as another check says
    if rank.reported and STRATEGY not in [kind for kind, _ in rank.facts.strategies]:
        message = f"{rank.where} makes no ParameterServerStrategy, so it trains by itself."
        return Finding(message, source.line_of("ParameterServerStrategy", "strategy"), explains=True)
    if rank.facts.gpus:
        return Finding(
            f"{rank.where} can see GPUs {', '.join(map(str, rank.facts.gpus))}, which the workers of its host need. "
            "Expected: none.",
            rank.facts.lines.get("gpu") or source.line_of("set_visible_devices", "TFConfigClusterResolver"),
        )
    if rank.facts.fits and rank.facts.fits[0].strategy != STRATEGY:
        return Finding(
            f"{rank.where} trains a model that is not on the parameter servers. Expected: one that is made, compiled "
            "too, under strategy.scope().",
            rank.facts.lines.get("model") or source.line_of("scope"),
            explains=True,
        )
    return None


def _training(rank: TaskRank, right: TaskRank, source: Source) -> Finding | None:
    if not rank.facts.fits:
        return None  # it does not get that far, as another check says
    fit, model = rank.facts.fits[0], right.facts.fits[0]
    if fit.places != model.places:
        places = ", ".join(fit.places)
        return Finding(f"{rank.where}: the model's variables are on {places}. Expected: ps.", source.line_of("scope"))
    if fit.in_parts != model.in_parts:
        return Finding(
            f"{rank.where}: {_parts(fit.in_parts)}. Expected: {_parts(model.in_parts)}.",
            source.line_of("variable_partitioner", "MinSizePartitioner", "ParameterServerStrategy"),
        )
    if fit.steps_per_epoch not in (BATCHES, BATCHES + 1):
        return Finding(
            f"{rank.where} makes {fit.steps_per_epoch} steps an epoch. Expected: {BATCHES}, as many as "
            "there are batches.",
            source.line_of("steps_per_epoch", "fit"),
        )
    if fit.begin and model.begin and fit.begin.iterations < model.begin.iterations:
        return Finding(
            f"Started again after an interruption in epoch {EPOCHS}, training begins anew. Expected: from the end of "
            "the last epoch.",
            source.line_of("BackupAndRestore", "callbacks"),
        )
    if not rank.error and not rank.facts.saved:
        return Finding(f"{rank.where} does not save the trained model.", source.line_of("save", "fit"))
    return None


def _parts(in_parts: list[list[int]]) -> str:
    """Say which variables are kept in parts."""
    if not in_parts:
        return "no variable is cut into parts"
    if len(in_parts) > 3:
        return f"{len(in_parts)} variables are cut into parts"
    return " and ".join(f"a variable is in {parts} parts of {'x'.join(map(str, shape))}" for parts, *shape in in_parts)
