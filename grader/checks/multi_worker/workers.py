"""The check of step 13: several workers train one model."""

from grader.checks.multi_worker.program import EPOCHS, THREE, TWO, part
from grader.checks.part import Finding
from grader.checks.training import close, hardly_communicated
from grader.facts import TaskRank, TaskRuns
from grader.job import BATCH
from grader.runner.reading import Source
from grader.runner.synthetic_data import FASHION_MNIST

TRAIN = FASHION_MNIST - FASHION_MNIST // 6  # images
STRATEGY = "CollectiveAllReduceStrategy"  # what MultiWorkerMirroredStrategy is called inside TensorFlow
# Of a worker's images: so many are another's, too, where nothing distributes them. Two workers that shuffle each for
# itself have half of theirs in common, which is no good, and no mistake either.
SHARED = 0.8


@part.check(
    13,
    clusters=(TWO, THREE),
    hint="Make tf.distribute.MultiWorkerMirroredStrategy before anything else, the model under strategy.scope(), "
    "and the batches strategy.num_replicas_in_sync times as large.",
)
def one_model(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The workers train one model, each on its own part of every batch.

    What is expected of images and steps is counted out from the judge's own data and arguments.
    """
    for workers in runs.topologies.values():
        finding = _strategy(workers, source) or _model(workers, source)
        if finding:
            return finding
        if any(rank.error or not rank.facts.fits or not rank.facts.fits[0].end for rank in workers):
            return None  # it does not get that far, as another check says
        for find in (_batches, _steps, _images, _weights, _reports):
            finding = find(workers, source)
            if finding:
                return finding
    return hardly_communicated(runs, expected)


def _strategy(workers: list[TaskRank], source: Source) -> Finding | None:
    line = source.line_of("MultiWorkerMirroredStrategy", "strategy")
    for rank in workers:
        if rank.error and "late strategy" in rank.causes:
            message = f"{rank.where}: the strategy is made after TensorFlow has been used, for a tensor or a device."
            return Finding(f"{message} Expected: before anything else of TensorFlow's.", line, explains=True)
        if rank.error or not rank.reported:
            return None  # it does not get that far, as another check says
        if STRATEGY not in [kind for kind, _ in rank.facts.strategies]:
            message = f"{rank.where} makes no MultiWorkerMirroredStrategy, so it knows of no other worker."
            return Finding(message, line)
    return None


def _model(workers: list[TaskRank], source: Source) -> Finding | None:
    for rank in workers:
        if rank.facts.fits and (rank.facts.fits[0].strategy != STRATEGY or rank.facts.fits[0].replicas != len(workers)):
            return Finding(
                f"{rank.where} trains a model that belongs to this worker alone. Expected: one that is made, compiled "
                "too, under strategy.scope().",
                rank.facts.lines.get("model") or source.line_of("scope", "Sequential"),
            )
    return None


def _batches(workers: list[TaskRank], source: Source) -> Finding | None:
    line = source.line_of("batch_size", "batch")
    for rank in workers:
        for batch in rank.facts.fits[0].images[: TRAIN // (BATCH * len(workers))]:
            if len(batch) != BATCH:
                return Finding(
                    f"{rank.where} takes {_images_of(len(batch))} a step. Expected: {BATCH}, its own --batch-size, "
                    f"of {BATCH * len(workers)} of all workers.",
                    line,
                )
    return None


def _steps(workers: list[TaskRank], source: Source) -> Finding | None:
    full = BATCH * len(workers)
    right = {TRAIN // full, -(-TRAIN // full)}
    for rank in workers:
        epochs = rank.facts.fits[0].epochs
        for number, steps in enumerate(epochs):
            if steps not in right:
                end = " The data end: do they repeat?" if number and steps < min(right) and epochs[0] in right else ""
                return Finding(
                    f"{rank.where} makes {steps} steps in epoch {number + 1}. Expected: {min(right)}, for {TRAIN} "
                    f"images that are not held out, {full} a step.{end}",
                    source.line_of("repeat" if end else "steps_per_epoch", "steps_per_epoch"),
                )
        if len(epochs) != EPOCHS:
            message = f"{rank.where} trains for {len(epochs)} epochs. Expected: {EPOCHS}, as it is told."
            return Finding(message, source.line_of("epochs", "fit"))
    return None


def _images(workers: list[TaskRank], source: Source) -> Finding | None:
    """Whether any two workers train on the same images in the first epoch, or one on what is held out."""
    seen = [_first_epoch(rank) for rank in workers]
    held_out = {image for rank in workers for batch in rank.facts.fits[0].validation_images for image in batch}
    for number, images in enumerate(seen):
        if images & held_out:
            message = f"{workers[number].where} trains on {_images_of(len(images & held_out))} that it validates on."
            return Finding(f"{message} Expected: those held out are not trained on.", source.line_of("held_out"))
        for other in range(number):
            if images and len(images & seen[other]) > SHARED * len(images):
                return Finding(
                    f"{workers[number].where} trains on the same images as {low(workers[other])}. Expected: "
                    "each worker on its own part of every batch.",
                    source.line_of("auto_shard_policy", "with_options", "from_tensor_slices"),
                )
    return None


def _first_epoch(rank: TaskRank) -> set[int]:
    fit = rank.facts.fits[0]
    return {image for batch in fit.images[: fit.epochs[0] if fit.epochs else 0] for image in batch}


def _weights(workers: list[TaskRank], source: Source) -> Finding | None:
    ends = [rank.facts.fits[0].end for rank in workers]
    for rank, end in zip(workers, ends, strict=True):
        if not (end and ends[0] and close(end.weights, ends[0].weights)):
            return Finding(
                f"{rank.where} ends with weights other than {low(workers[0])}'s. Expected: the same.",
                source.line_of("scope", "fit"),
            )
    return None


def _reports(workers: list[TaskRank], source: Source) -> Finding | None:
    for rank in workers:
        printed = rank.stdout.strip()
        if rank.number and printed:
            first = printed.splitlines()[0][:80]
            return Finding(f"{rank.where} prints, too: “{first}”. Expected: the chief alone.", _line_of_print(source))
        if not rank.number and not printed:
            return Finding(f"{rank.where} prints nothing. Expected: the chief reports.", _line_of_print(source))
    return None


def low(rank: TaskRank) -> str:
    """Return a worker's name, for the middle of a sentence."""
    return rank.name.lower()


def _line_of_print(source: Source) -> int | None:
    return source.line_of("verbose", "fit")


def _images_of(count: int) -> str:
    return "1 image" if count == 1 else f"{count} images"
