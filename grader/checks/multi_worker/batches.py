"""Checks of step 13: the batches, images and epochs of each worker, where they begin, and who reports."""

from grader.checks.multi_worker.mnist_multi_worker import part
from grader.checks.multi_worker.workers import in_scope, low, strategy_first, trainings, untrained
from grader.checks.training import own_errors
from grader.reading.parsing import Source
from grader.terms.clusters import BATCH, FASHION_MNIST
from grader.terms.facts import TaskFit
from grader.terms.findings import Finding, Untold, counted
from grader.terms.runs import TaskRank, TaskRuns

HELD_OUT = FASHION_MNIST // 6  # images, for validation
TRAIN = FASHION_MNIST - HELD_OUT
# Of a worker's images: so many are another's, too, where no one distributes them. Two workers that shuffle with seeds
# of their own have about half of theirs in common, which the lesson calls a loss and lets pass.
SHARED = 0.8


@part.check(
    13,
    points=1,
    asks=("Multiply the batch size by `strategy.num_replicas_in_sync`.", "that of all workers together"),
    look_at=("batch_size", "batch"),
    needs=(in_scope,),
    figure="images_of_workers",
    hint="strategy.num_replicas_in_sync is the number of replicas of all workers.",
)
def global_batch(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """A batch is that of all workers: each of them takes --batch-size images of it per step"""
    for workers, rank, fit in trainings(runs):
        for batch in fit.images[: TRAIN // (BATCH * len(workers))]:
            if len(batch) != BATCH:
                return Finding(
                    seen=f"{rank.where} takes {counted(len(batch), 'image')} per step",
                    expected=f"{BATCH}, its own --batch-size, of the {BATCH * len(workers)} of all workers",
                )
    return None


@part.check(
    13,
    points=1,
    asks=("Shard by image, not by file", "takes its part of every batch", "Images are shared out once"),
    look_at=("auto_shard_policy", "with_options", "from_tensor_slices"),
    needs=(global_batch,),
    figure="images_of_workers",
    hint="AutoShardPolicy.DATA shares out images, OFF leaves it to you. One of the two shares out, not both.",
)
def parts(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Each worker takes its own part of the images, of those trained on and of those held out

    Workers that shuffle with seeds of their own have some images in common, which passes, as the lesson says.
    """
    for workers, rank, fit in trainings(runs):
        images = _first_epoch(fit)
        own = set(images)
        for other in workers[: rank.number]:
            others = other.facts.fits[0]
            if len(own & set(_first_epoch(others))) > SHARED * len(own):
                seen = f"{rank.where} trains on the same images as {low(other)}"
            elif fit.validation_images and fit.validation_images == others.validation_images:
                seen = f"{rank.where} validates on the same images as {low(other)}, batch by batch"
            else:
                continue
            return Finding(seen=seen, expected="each worker uses its own part of every batch")
        share = -(-TRAIN // len(workers))
        # What is left to the worker may be others in each pass; a data set that repeats before it is shuffled has
        # images twice, too.
        part = fit.sharded or len({image for batch in fit.images for image in batch}) <= share
        if fit.divided and part and len(own) < len(images):
            return Finding(
                seen=f"{rank.where}: the images are shared out twice. The script leaves this worker {share} of "
                f"{TRAIN}, and the strategy takes a part of these again: in epoch 1, {len(own)} different images fill "
                f"{len(images)} places",
                expected="shared out once, by the strategy or by the script",
                line=source.line_of("shard"),
            )
    return None


@part.check(
    13,
    points=1,
    asks=("The numbers of steps follow from it, in training as in validation.",),
    look_at=("steps_per_epoch",),
    needs=(global_batch,),
    figure="images_of_workers",
    hint="Divide the number of images by the batch size of all workers, and let the data repeat.",
)
def steps(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """An epoch's steps go over the training images once, and those of a validation over the images held out"""
    for workers, rank, fit in trainings(runs):
        if finding := _training_steps(rank, fit, BATCH * len(workers), source):
            return finding
    for workers in runs.clusters.values():
        if finding := _validation_steps(workers, source):
            return finding
    return None


def _training_steps(rank: TaskRank, fit: TaskFit, full: int, source: Source) -> Finding | None:
    right = {TRAIN // full, -(-TRAIN // full)}
    for number, made in enumerate(fit.epochs):
        if made not in right:
            ran_out = number > 0 and made < min(right)
            return Finding(
                seen=f"{rank.where} makes {counted(made, 'step')} in epoch {number + 1}",
                expected=f"{min(right)}, for {TRAIN} images that are not held out, {full} per step",
                hint="The data end: do they repeat?" if ran_out else "",
                line=source.line_of("repeat") if ran_out else None,
            )
    return None


def _validation_steps(workers: list[TaskRank], source: Source) -> Finding | None:
    fits, full = [rank.facts.fits[0] for rank in workers], BATCH * len(workers)
    held_out = {image for fit in fits for batch in fit.validation_images for image in batch}
    for rank, fit in zip(workers, fits, strict=True):
        both = len(held_out & {image for batch in fit.images for image in batch})
        if both:
            seen = f"{rank.where} trains on {counted(both, 'image')} that the workers validate on"
            return Finding(seen=seen, expected="no image that is held out", line=source.line_of("held_out"))
    if not fits[0].epochs:
        return None  # `restored` says that no epoch is left to train for
    validated = sum(len(batch) for fit in fits for batch in fit.validation_images) / len(fits[0].epochs)
    if not HELD_OUT // full * full <= validated <= -(-HELD_OUT // full) * full:
        return Finding(
            seen=f"All workers ({workers[0].cluster}) together validate on {counted(round(validated), 'image')} per "
            "epoch, each counted as often as it is used",
            expected=f"about {HELD_OUT}, the number held out: {counted(HELD_OUT // full, 'step')} of {full}",
            line=source.line_of("validation_steps", "validation_data", "fit"),
        )
    return None


@part.check(
    13,
    points=1,
    asks=("Every worker loads the newest checkpoint", "continues from its step"),
    look_at=("load_weights", "latest_checkpoint", "make_or_restore_model", "scope"),
    needs=(strategy_first,),
    hint="make_or_restore_model loads the newest checkpoint; call it on every worker, as the program did before.",
)
def restored(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Started again, every worker loads the newest checkpoint and continues from its step"""
    again = [rank for rank in runs.all_ranks() if rank.found.checkpoint]
    for rank in again:
        found = rank.found.checkpoint.iterations if rank.found.checkpoint else 0
        entered = rank.facts.fits[0].entered if rank.facts.fits else None
        if entered and entered.iterations != found:
            return Finding(
                seen=f"{rank.where}, started again, begins with {counted(entered.iterations, 'step')} behind it",
                expected=f"{found}, those of the newest checkpoint in --log-dir/checkpoints, on every worker",
                explains=True,
            )
    if unseen := untrained(runs):
        return unseen
    if not again and runs.reserved:
        return Untold(seen="the killed workers leave no checkpoint that could be loaded")
    if not again:
        first = next(runs.ranks())
        return Finding(
            seen=f"{first.where} leaves no checkpoint in --log-dir/checkpoints that tf.train.latest_checkpoint finds, "
            "so no worker can continue from one",
            expected="weights saved there after each epoch",
            line=source.line_of("ModelCheckpoint", "callbacks"),
        )
    return _epochs(runs, expected, source)


def _epochs(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Whether training stops at the epoch that --epochs names, the epochs before a checkpoint included."""
    for name, workers in runs.clusters.items():
        right = expected.clusters[name][0].facts.fits[0]
        last = len(right.epochs) + _epochs_behind(right)
        for rank in workers:
            fit = rank.facts.fits[0]
            behind = _epochs_behind(fit)
            if len(fit.epochs) != last - behind:
                more = f", with {counted(behind, 'epoch')} behind it" if behind else ""
                return Finding(
                    seen=f"{rank.where} trains for {counted(len(fit.epochs), 'epoch')}",
                    expected=f"{last - behind}, since --epochs is {last}{more}",
                    line=source.line_of("initial_epoch" if behind else "epochs", "epochs", "fit"),
                )
    return None


def _epochs_behind(fit: TaskFit) -> int:
    """Return how many epochs were behind a training when it began, as its own epochs are long."""
    return fit.entered.iterations // fit.epochs[0] if fit.entered and fit.epochs and fit.epochs[0] else 0


@part.check(
    13,
    points=1,
    asks=("Set `verbose` so that only the chief reports.",),
    look_at=("verbose", "fit"),
    needs=(strategy_first,),
    hint="verbose of model.fit is 0 for a worker that is silent.",
)
def chief_reports(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The chief reports, and no other worker"""
    for rank in runs.ranks():
        printed = rank.stdout.strip() or ("" if rank.error else own_errors(rank))
        if rank.number and printed:
            seen = f"{rank.where} prints “{printed.splitlines()[0][:80]}”."
            return Finding(seen=seen, expected="only worker 0, the chief, reports")
    if unseen := untrained(runs):
        return unseen
    for rank in runs.ranks():
        if not rank.number and not rank.stdout.strip():
            return Finding(seen=f"{rank.where}, the chief, prints nothing", expected="it reports")
    return None


def _first_epoch(fit: TaskFit) -> list[int]:
    return [image for batch in fit.images[: fit.epochs[0] if fit.epochs else 0] for image in batch]
